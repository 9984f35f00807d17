import { type Curve, latencyMs } from '../planning/curve.js';

/** The batch size that really runs when `count` pictures are to: the next bucket, if there are any. */
export function bucketFor(count: number, buckets: readonly number[]): number {
  return buckets.find((bucket) => bucket >= count) ?? count;
}

/**
 * The size to try when this many do not fit into memory: the next smaller bucket, or half of it
 * where there are none. Not smaller than `count` when there is nothing smaller to try.
 */
export function smallerSize(count: number, buckets: readonly number[]): number {
  if (buckets.length === 0) return Math.ceil(count / 2);
  const bucket = bucketFor(count, buckets);
  return buckets.findLast((other) => other < bucket) ?? bucket;
}

/** The same curve where a batch is filled up to the next bucket: it then takes what that takes. */
export function steppedCurve(curve: Curve, buckets: readonly number[]): Curve {
  if (curve.length === 0 || buckets.length === 0) return curve;
  return buckets.flatMap((bucket, index) => {
    const ms = latencyMs(curve, bucket);
    const first = (buckets[index - 1] ?? 0) + 1;
    return first === bucket
      ? [{ batch: bucket, ms }]
      : [first, bucket].map((batch) => ({ batch, ms }));
  });
}
