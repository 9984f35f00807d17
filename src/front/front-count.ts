import type { Config } from '../config/schema.js';

/** Below this, every core is worth more to models than to requests. */
const MIN_CORES = 8;
/** What these can decode keeps one front half busy, at most. More of them have more to tell. */
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
