import { type DeviceName, isSlowToPrepare } from '../config/devices.js';
import type { Machine } from './machine.js';
import type { ProfilePoint } from './profile.js';

/**
 * The batch sizes that run on a GPU: a batch is filled up to the next of them. Where a new size
 * costs next to nothing they are close together, so that little is filled up.
 */
const CLOSE = [1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256] as const;
/**
 * CUDA's libraries take seconds to prepare a size, and hold memory for each: there are few, and
 * larger ones than these gain next to nothing.
 */
const FAR_APART = [1, 8, 32, 64, 128, 256] as const;
/** Larger ones are only for those who ask for them. */
const MOST = { close: 128, farApart: 64 } as const;
/** Throughput this far below the best means that it falls. */
const FALLEN = 0.9;
/** Of two sizes one must bring this much more throughput than all before. */
const WORTHWHILE = 1.03;
/** An engine that takes more of the memory than this leaves too little for the rest. */
const MEMORY_SHARE = 0.5;

export function bucketsUpTo(maxBatch: number, device: DeviceName): number[] {
  const sizes = isSlowToPrepare(device) ? FAR_APART : CLOSE;
  return [...sizes.filter((size) => size < maxBatch), maxBatch];
}

/** The largest batch that is tried unasked. */
export function largestBucket(device: DeviceName): number {
  return isSlowToPrepare(device) ? MOST.farApart : MOST.close;
}

/**
 * The batch size to measure after these, or `undefined` when larger ones are not worth it.
 * @param wanted set by hand: measured up to there, whatever throughput does
 */
export function nextBucket(
  points: readonly ProfilePoint[],
  machine: Pick<Machine, 'memoryBytes'>,
  wanted: number | undefined,
  device: DeviceName,
): number | undefined {
  const last = points.at(-1);
  if (last?.rssBytes !== undefined && last.rssBytes > machine.memoryBytes * MEMORY_SHARE) {
    return undefined;
  }
  const sizes = bucketsUpTo(wanted ?? largestBucket(device), device);
  const next = sizes.find((size) => size > (last?.batch ?? 0));
  if (wanted !== undefined || last === undefined) return next;
  const rates = points.map(({ batch, ms }) => batch / ms);
  const hasFallen = (rates.at(-1) ?? 0) < Math.max(...rates) * FALLEN;
  const before = Math.max(...rates.slice(0, -2));
  const isFlat = rates.length > 2 && Math.max(...rates.slice(-2)) < before * WORTHWHILE;
  return hasFallen || isFlat ? undefined : next;
}
