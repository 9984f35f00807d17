import type { GpuReading } from './memory-reading.js';

/** So much below the mark the memory must be before it counts as free again. */
export const HYSTERESIS = 0.02;

/** The share of a GPU's memory that is in use. */
export function usedShare({ usedBytes, totalBytes }: GpuReading): number {
  return usedBytes / totalBytes;
}

/**
 * Whether a GPU's memory counts as full. What is not known is not full: a tool that has stopped
 * answering must not stop the server.
 * @param was what it counted as before
 * @param share `undefined` when it is not known, or not any more
 * @param high the mark; 1 for none
 */
export function isMemoryHigh(was: boolean, share: number | undefined, high: number): boolean {
  if (share === undefined || high >= 1) return false;
  return share > high || (was && share >= high - HYSTERESIS);
}
