import type { Host } from './host.js';

/** Of the kernel's part, such as 580.82.07. */
export function driverVersion(host: Host): string | undefined {
  const text = host.read('/proc/driver/nvidia/version') ?? '';
  return /Kernel Module\D*?(?:for \S+ +)?(\d+\.\d+(?:\.\d+)?)/.exec(text)?.[1];
}

/** NVIDIA GPUs of the machine, or of this container. */
export function countGpus(host: Host): number {
  const listed = host.list('/proc/driver/nvidia/gpus').length;
  if (listed > 0) return listed;
  const nodes = host.list('/dev').filter((name) => /^nvidia\d+$/.test(name)).length;
  // In WSL there are no such files, only one door to all GPUs.
  return nodes === 0 && host.exists('/dev/dxg') ? 1 : nodes;
}

/**
 * The indexes by which CUDA knows GPUs: it counts those that it may see, and stops at the first
 * entry that names none.
 */
export function visibleIndexes(gpus: number, variable: string | undefined): number[] {
  if (variable === undefined) return range(gpus);
  const entries = variable.split(',').map((entry) => entry.trim());
  const isValid = (entry: string): boolean =>
    /^\d+$/.test(entry) ? Number(entry) < gpus : /^(GPU|MIG)-/i.test(entry);
  const bad = entries.findIndex((entry) => !isValid(entry));
  return range(bad < 0 ? entries.length : bad);
}

function range(length: number): number[] {
  return Array.from({ length }, (_, index) => index);
}
