import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HYSTERESIS, isMemoryHigh } from '../../src/gpu/memory-pressure.js';

const share = fc.double({ min: 0, max: 1, noNaN: true });
const mark = fc.double({ min: 0.1, max: 0.999, noNaN: true });

describe('memory that is almost full', () => {
  it('begins above the mark and nowhere else', () => {
    fc.assert(
      fc.property(share, mark, (used, high) => {
        expect(isMemoryHigh(false, used, high)).toBe(used > high);
      }),
    );
  });

  it('ends only clearly below the mark', () => {
    fc.assert(
      fc.property(share, mark, (used, high) => {
        expect(isMemoryHigh(true, used, high)).toBe(used >= high - HYSTERESIS);
      }),
    );
  });

  it('changes at most once while memory only grows, or only shrinks', () => {
    fc.assert(
      fc.property(fc.array(share), mark, fc.boolean(), (values, high, isGrowing) => {
        const sorted = values.sort((one, other) => (isGrowing ? one - other : other - one));
        let is = isMemoryHigh(false, sorted[0], high);
        let changes = 0;
        for (const used of sorted) {
          const next = isMemoryHigh(is, used, high);
          if (next !== is) changes++;
          is = next;
        }
        expect(changes).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('is never what is not known, nor anything without a mark', () => {
    fc.assert(
      fc.property(fc.boolean(), share, mark, (was, used, high) => {
        expect(isMemoryHigh(was, undefined, high)).toBe(false);
        expect(isMemoryHigh(was, used, 1)).toBe(false);
      }),
    );
  });
});
