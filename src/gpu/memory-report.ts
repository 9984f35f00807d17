import type { Log } from '../telemetry/log.js';
import type { Metrics } from '../telemetry/metrics.js';
import type { GpuInUse } from './memory-place.js';
import { usedShare } from './memory-pressure.js';
import type { GpuReading } from './memory-reading.js';

/** A GPU that models run on, as it is shown. */
export interface GpuState extends GpuInUse {
  /** What the engines of this server hold of it, where that is known. */
  readonly ownBytes: number | undefined;
  /** Its reading is old, or there was never one. */
  readonly isStale: boolean;
  readonly isHigh: boolean;
}

interface Change {
  readonly reading: GpuReading;
  /** `undefined` when it is not known any more. */
  readonly share: number | undefined;
  readonly models: readonly string[];
  readonly ownBytes: number | undefined;
  readonly high: number;
}

const GAUGES = [
  'shoal_gpu_memory_used_bytes',
  'shoal_gpu_memory_total_bytes',
  'shoal_gpu_memory_own_bytes',
  'shoal_gpu_utilization_ratio',
  'shoal_gpu_memory_known',
  'shoal_gpu_memory_high',
] as const;

export function setGpuGauges(gpus: readonly GpuState[], metrics: Metrics): void {
  // What is not known must not look as if it were.
  for (const name of GAUGES) metrics.clear(name);
  for (const { index, reading, ownBytes, isStale, isHigh } of gpus) {
    const gpu = String(index);
    metrics.set('shoal_gpu_memory_known', { gpu }, isStale ? 0 : 1);
    metrics.set('shoal_gpu_memory_high', { gpu }, isHigh ? 1 : 0);
    if (reading === undefined || isStale) continue;
    if (ownBytes !== undefined) metrics.set('shoal_gpu_memory_own_bytes', { gpu }, ownBytes);
    metrics.set('shoal_gpu_memory_used_bytes', { gpu }, reading.usedBytes);
    metrics.set('shoal_gpu_memory_total_bytes', { gpu }, reading.totalBytes);
    if (reading.utilization === undefined) continue;
    metrics.set('shoal_gpu_utilization_ratio', { gpu }, reading.utilization);
  }
}

/** One line when a GPU becomes full, and one when it is no longer. */
export function logChange(
  log: Log,
  isHigh: boolean,
  { reading, share, models, ownBytes, high }: Change,
): void {
  const { index, name, usedBytes, totalBytes } = reading;
  const line = {
    gpu: index,
    name,
    used_bytes: usedBytes,
    total_bytes: totalBytes,
    // Whether it is this server that holds it, or somebody else.
    ...(ownBytes !== undefined && { own_bytes: ownBytes }),
    models,
  };
  if (isHigh) {
    log.warn({ ...line, gpu_memory_high: high }, 'GPU memory is almost full, no work is taken');
  } else if (share === undefined) {
    log.warn(line, 'GPU memory was almost full and is not known any more, work is taken again');
  } else {
    log.info(line, 'GPU memory is free again, work is taken');
  }
}

export function describeFull({ index, reading, models }: GpuInUse, high: number): string {
  const share = reading === undefined ? '' : ` (${percent(usedShare(reading))})`;
  return `More than ${percent(high)} of the memory of GPU ${String(index)} is in use${share}, where ${models.join(', ')} runs.`;
}

export function whyUnknown(hasFresh: boolean, hasNvidiaTool: boolean): string {
  if (hasFresh) return 'which of the GPUs is used cannot be told';
  return hasNvidiaTool ? 'nvidia-smi does not answer' : 'there is no nvidia-smi on the PATH';
}

function percent(share: number): string {
  return `${String(Math.round(share * 1000) / 10)} %`;
}
