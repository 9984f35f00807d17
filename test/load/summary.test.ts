import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { logBins, percentileOf, summarize } from '../../src/load/summary.js';

describe('percentiles', () => {
  it('are values that were measured', () => {
    const values = Array.from({ length: 100 }, (_, index) => index + 1);
    expect(summarize(values.toReversed())).toEqual({
      count: 100,
      mean: 50.5,
      p50: 50,
      p90: 90,
      p95: 95,
      p99: 99,
      max: 100,
    });
    expect(summarize([7])).toEqual({ count: 1, mean: 7, p50: 7, p90: 7, p95: 7, p99: 7, max: 7 });
    expect(summarize([])).toBeNull();
  });

  it('leave at most the rest above them', () => {
    const values = fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { minLength: 1 });
    fc.assert(
      fc.property(values, fc.integer({ min: 0, max: 100 }), (all, p) => {
        const value = percentileOf(Float64Array.from(all).sort(), p);
        expect(all).toContain(value);
        const above = all.filter((one) => one > value).length;
        expect(above).toBeLessThanOrEqual(all.length * (1 - p / 100) + 1e-9);
      }),
    );
  });
});

describe('bins', () => {
  it('hold every value once and join without gaps', () => {
    const values = fc.array(fc.double({ min: 0, max: 1e5, noNaN: true }), { minLength: 1 });
    fc.assert(
      fc.property(values, fc.integer({ min: 1, max: 30 }), (all, count) => {
        const bins = logBins(all, count);
        expect(bins.reduce((sum, bin) => sum + bin.count, 0)).toBe(all.length);
        bins.forEach((bin, at) => {
          expect(bin.to).toBeGreaterThanOrEqual(bin.from);
          expect(bin.from).toBeCloseTo(at === 0 ? bin.from : (bins[at - 1]?.to as number));
        });
      }),
    );
  });

  it('are few where there is little to tell apart', () => {
    expect(logBins([], 10)).toEqual([]);
    expect(logBins([5, 5, 5], 10)).toHaveLength(1);
  });

  it('grow by a constant factor', () => {
    const bins = logBins([1, 10, 100, 1000], 3);
    expect(bins.map(({ to }) => Math.round(to))).toEqual([10, 100, 1000]);
    expect(bins.map(({ count }) => count).reduce((sum, count) => sum + count)).toBe(4);
  });
});
