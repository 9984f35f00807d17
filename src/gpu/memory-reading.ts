import { SMI_FORMAT, smiFields, smiNumber } from './smi-csv.js';

/** What one GPU says about itself. */
export interface GpuReading {
  readonly vendor: 'nvidia' | 'amd';
  /** As its vendor's tools count, which is not always as CUDA does. */
  readonly index: number;
  /** Empty where there is none. */
  readonly uuid: string;
  readonly name: string;
  readonly usedBytes: number;
  readonly totalBytes: number;
  /** 0 to 1. */
  readonly utilization?: number;
}

/** What one process holds on one GPU. */
export interface ProcessReading {
  readonly pid: number;
  readonly uuid: string;
  readonly bytes: number;
}

const MiB = 2 ** 20;
export const GPU_QUERY = [
  '--query-gpu=index,uuid,name,memory.used,memory.total,utilization.gpu',
  SMI_FORMAT,
] as const;
export const PROCESS_QUERY = [
  '--query-compute-apps=pid,gpu_uuid,used_gpu_memory',
  SMI_FORMAT,
] as const;

/** One line of `nvidia-smi`; `undefined` for whatever does not say how much memory is in use. */
export function parseGpuLine(line: string): GpuReading | undefined {
  const [index, uuid, name, used, total, busy] = smiFields(line, 6) ?? [];
  if (uuid === undefined || name === undefined || name === '') return undefined;
  const at = smiNumber(index);
  const usedMiB = smiNumber(used);
  const totalMiB = smiNumber(total);
  if (at === undefined || usedMiB === undefined || totalMiB === undefined) return undefined;
  // What cannot be is not a reading, whatever it looks like.
  if (!uuid.startsWith('GPU-') || totalMiB === 0 || usedMiB > totalMiB) return undefined;
  const percent = smiNumber(busy);
  return {
    vendor: 'nvidia',
    index: at,
    uuid,
    name,
    usedBytes: usedMiB * MiB,
    totalBytes: totalMiB * MiB,
    ...(percent !== undefined && percent <= 100 && { utilization: percent / 100 }),
  };
}

export function parseProcessLine(line: string): ProcessReading | undefined {
  const [pid, uuid, used] = smiFields(line, 3) ?? [];
  const id = smiNumber(pid);
  const usedMiB = smiNumber(used);
  if (id === undefined || usedMiB === undefined || uuid === undefined) return undefined;
  return /^(GPU|MIG)-/.test(uuid) ? { pid: id, uuid, bytes: usedMiB * MiB } : undefined;
}
