import type { Config } from '../config/schema.js';

/** Below this, every core is worth more to models than to requests. */
const MIN_CORES = 8;
/** In front of 16 cores, three were at least as good as four, and two were not. */
const CORES_PER_FRONT = 5;

/**
 * How many processes receive requests. One is enough for what a CPU can compute; in front of a GPU
 * one would be what limits it.
 */
export function frontCount(
  { http_workers, device, models }: Pick<Config, 'http_workers' | 'device' | 'models'>,
  cores: number,
  hasGpu: boolean,
): number {
  if (http_workers !== 'auto') return http_workers;
  const devices = models.length === 0 ? [device] : models.map((model) => model.device ?? device);
  const mayUseGpu = hasGpu && devices.some((name) => name !== 'cpu');
  return mayUseGpu && cores >= MIN_CORES ? Math.round(cores / CORES_PER_FRONT) : 1;
}
