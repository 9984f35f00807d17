import type { DeviceName } from '../config/devices.js';
import { splitsFor } from '../planning/exploration.js';
import { gpuSplits } from '../planning/gpu-plan.js';
import type { Split } from '../planning/profile.js';

/** Batch sizes are tried along a line, the smallest first. */
export interface Line extends Split {
  /** `undefined`: adaptive batching. */
  readonly windowMs: number | undefined;
}

/** A batch size of a line and what it reached. */
export interface Tried {
  readonly maxBatch: number;
  readonly imagesPerSecond: number;
}

export const LARGEST_BATCH = 128;
/** Throughput this far below the best of the line has clearly fallen. */
const FALLEN = 0.9;
/** Two sizes in a row must bring this much more, or larger ones would only answer later. */
const WORTHWHILE = 1.03;

/**
 * Every way to divide the cores, or the sessions that a GPU may have, with adaptive batching and
 * with each window.
 */
export function linesFor(device: DeviceName, cores: number, windows: readonly number[]): Line[] {
  const splits =
    device === 'cpu' ? splitsFor(cores) : gpuSplits(device, { sessions: 'auto', threads: 'auto' });
  return splits.flatMap((split) =>
    [undefined, ...windows].map((windowMs) => ({ ...split, windowMs })),
  );
}

/** The batch size to try after these, or `undefined` when the line is done. */
export function nextMaxBatch(
  line: Line,
  tried: readonly Tried[],
  largest: number,
): number | undefined {
  const last = tried.at(-1);
  if (last === undefined) {
    const first = firstBatch(line);
    return first > largest ? undefined : first;
  }
  if (last.maxBatch >= largest) return undefined;
  const rates = tried.map(({ imagesPerSecond }) => imagesPerSecond);
  const hasFallen = last.imagesPerSecond < Math.max(...rates) * FALLEN;
  const before = Math.max(...rates.slice(0, -2));
  const isFlat = rates.length > 2 && Math.max(...rates.slice(-2)) < before * WORTHWHILE;
  return hasFallen || isFlat ? undefined : Math.min(last.maxBatch * 2, largest);
}

/** How many sizes a line has at most; for telling how long a search may take. */
export function countSizes(line: Line, largest: number): number {
  const first = firstBatch(line);
  return first > largest ? 0 : 1 + Math.ceil(Math.log2(largest / first));
}

/** One image is a full batch of one, so there a window changes nothing. */
function firstBatch({ windowMs }: Line): number {
  return windowMs === undefined ? 1 : 2;
}
