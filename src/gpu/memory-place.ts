import type { Device } from '../config/devices.js';
import type { Environment } from '../config/environment.js';
import type { GpuReading } from './memory-reading.js';

/**
 * The GPU that a device is. CUDA counts only those that it may see, in the order in which it is
 * told them; `nvidia-smi` always counts all. WebGPU and DirectML take one by themselves, so it is
 * known only where there is just one.
 */
export function gpuOf(
  { name, index }: Device,
  readings: readonly GpuReading[],
  { CUDA_VISIBLE_DEVICES: visible }: Environment,
): GpuReading | undefined {
  switch (name) {
    case 'cuda':
    case 'tensorrt': {
      const nvidia = readings.filter(({ vendor }) => vendor === 'nvidia');
      if (visible === undefined) return nvidia.find((gpu) => gpu.index === index);
      return namedGpu(visible.split(',')[index]?.trim() ?? '', nvidia);
    }
    case 'webgpu':
    case 'dml':
      return readings.length === 1 ? readings[0] : undefined;
    default:
      return undefined;
  }
}

/** By index, or by the beginning of its UUID. A slice of a GPU (`MIG-…`) has memory of its own. */
function namedGpu(entry: string, readings: readonly GpuReading[]): GpuReading | undefined {
  if (/^\d+$/.test(entry)) return readings.find(({ index }) => index === Number(entry));
  if (!entry.startsWith('GPU-')) return undefined;
  const found = readings.filter(({ uuid }) => uuid.startsWith(entry));
  return found.length === 1 ? found[0] : undefined;
}

/** Whether there is a GPU whose memory could be read. CoreML shares the memory of the machine. */
export function isOnGpu({ name }: Device): boolean {
  return name !== 'cpu' && name !== 'coreml';
}

/** Whoever computes on GPUs. */
export interface GpuUser {
  readonly name: string;
  readonly variant: { readonly devices: readonly Device[] };
}

/** A GPU that models run on. */
export interface GpuInUse {
  readonly index: number;
  /** `undefined` as long as nobody has said anything about it. */
  readonly reading: GpuReading | undefined;
  readonly models: readonly string[];
}

/** The GPUs that models run on, each once, in the order of their indexes. */
export function gpusInUse(
  users: readonly GpuUser[],
  readings: readonly GpuReading[],
  environment: Environment,
): GpuInUse[] {
  const found = new Map<string, GpuInUse>();
  for (const { name, variant } of users) {
    for (const device of variant.devices.filter(isOnGpu)) {
      const reading = gpuOf(device, readings, environment);
      const index = reading?.index ?? device.index;
      const key = `${reading?.vendor ?? device.name} ${String(index)}`;
      const models = new Set([...(found.get(key)?.models ?? []), name]);
      found.set(key, { index, reading, models: [...models] });
    }
  }
  return [...found.values()].sort((one, other) => one.index - other.index);
}
