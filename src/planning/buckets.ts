import type { Machine } from './machine.js';
import type { ProfilePoint } from './profile.js';

/**
 * The batch sizes that run on a GPU. Its libraries prepare every new size, which takes up to a
 * second, so there are few; and as a batch is filled up to the next of them, they are not far
 * apart.
 */
const BUCKETS = [1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256] as const;
/** Larger ones are only for those who ask for them. */
export const MAX_BATCH = 128;
/** Throughput this far below the best means that it falls. */
const FALLEN = 0.9;
/** Of two sizes one must bring this much more throughput than all before. */
const WORTHWHILE = 1.03;
/** An engine that takes more of the memory than this leaves too little for the rest. */
const MEMORY_SHARE = 0.5;

export function bucketsUpTo(maxBatch: number): number[] {
  return [...BUCKETS.filter((size) => size < maxBatch), maxBatch];
}

/**
 * The batch size to measure after these, or `undefined` when larger ones are not worth it.
 * @param wanted set by hand: measured up to there, whatever throughput does
 */
export function nextBucket(
  points: readonly ProfilePoint[],
  machine: Pick<Machine, 'memoryBytes'>,
  wanted?: number,
): number | undefined {
  const last = points.at(-1);
  if (last?.rssBytes !== undefined && last.rssBytes > machine.memoryBytes * MEMORY_SHARE) {
    return undefined;
  }
  const next = bucketsUpTo(wanted ?? MAX_BATCH).find((size) => size > (last?.batch ?? 0));
  if (wanted !== undefined || last === undefined) return next;
  const rates = points.map(({ batch, ms }) => batch / ms);
  const hasFallen = (rates.at(-1) ?? 0) < Math.max(...rates) * FALLEN;
  const before = Math.max(...rates.slice(0, -2));
  const isFlat = rates.length > 2 && Math.max(...rates.slice(-2)) < before * WORTHWHILE;
  return hasFallen || isFlat ? undefined : next;
}
