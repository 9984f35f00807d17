import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Curve, imagesPerSecond, latencyMs } from '../../src/planning/curve.js';

const GPU: Curve = [
  { batch: 1, ms: 2.2 },
  { batch: 4, ms: 2.8 },
  { batch: 8, ms: 4 },
];

describe('latencyMs', () => {
  it('gives what was measured', () => {
    for (const { batch, ms } of GPU) expect(latencyMs(GPU, batch)).toBe(ms);
  });

  it('lies on a line between two measured sizes', () => {
    expect(latencyMs(GPU, 2)).toBeCloseTo(2.4);
    expect(latencyMs(GPU, 6)).toBeCloseTo(3.4);
  });

  it('grows in proportion beyond the largest', () => {
    expect(latencyMs(GPU, 16)).toBeCloseTo(8);
  });

  it('does not promise less than the smallest', () => {
    expect(latencyMs([{ batch: 4, ms: 5 }], 1)).toBe(5);
  });

  it('says nothing when nothing was measured', () => {
    expect(latencyMs([], 1)).toBeNaN();
  });

  it('never falls for a larger batch when no measured one does', () => {
    const curve = fc
      .array(fc.double({ min: 0, max: 50, noNaN: true }), { minLength: 1, maxLength: 6 })
      .map((steps) => {
        let ms = 1;
        return steps.map((step, index) => ({ batch: 2 ** index, ms: (ms += step) }));
      });
    fc.assert(
      fc.property(curve, fc.integer({ min: 1, max: 100 }), (points, batch) => {
        expect(latencyMs(points, batch + 1)).toBeGreaterThanOrEqual(
          latencyMs(points, batch) - 1e-9,
        );
      }),
    );
  });
});

describe('imagesPerSecond', () => {
  it('counts the whole batch', () => {
    expect(imagesPerSecond({ batch: 8, ms: 4 })).toBe(2000);
  });
});
