import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bucketFor, steppedCurve } from '../../src/engine-process/buckets.js';
import { latencyMs } from '../../src/planning/curve.js';

const BUCKETS = [1, 2, 4, 8, 32];

describe('bucketFor', () => {
  it.each([
    [1, 1],
    [3, 4],
    [8, 8],
    [9, 32],
    [33, 33],
  ])('runs %d as %d', (count, size) => {
    expect(bucketFor(count, BUCKETS)).toBe(size);
  });

  it('runs any size as it is where there are no buckets', () => {
    expect(bucketFor(7, [])).toBe(7);
  });
});

describe('steppedCurve', () => {
  const curve = [1, 4, 16, 32].map((batch) => ({ batch, ms: 2 + batch / 8 }));

  it('says of every batch what its bucket takes', () => {
    const stepped = steppedCurve(curve, BUCKETS);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 32 }), (batch) => {
        const expected = latencyMs(curve, bucketFor(batch, BUCKETS));
        expect(latencyMs(stepped, batch)).toBeCloseTo(expected, 9);
      }),
    );
  });

  it('changes nothing without buckets or measurements', () => {
    expect(steppedCurve(curve, [])).toBe(curve);
    expect(steppedCurve([], BUCKETS)).toEqual([]);
  });
});
