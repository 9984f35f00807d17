import { readFileSync } from 'node:fs';

/**
 * What a process and all below it hold in memory; pages that several of them share count once.
 * `null` where the system does not say.
 */
export function memoryOf(pid: number): number | null {
  try {
    return [pid, ...descendantsOf(pid)].reduce((sum, one) => sum + shareOf(one), 0);
  } catch {
    return null;
  }
}

function descendantsOf(pid: number): number[] {
  const path = `/proc/${String(pid)}/task/${String(pid)}/children`;
  const children = readFileSync(path, 'utf8').split(' ').map(Number).filter(Boolean);
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}

function shareOf(pid: number): number {
  const text = readFileSync(`/proc/${String(pid)}/smaps_rollup`, 'utf8');
  const kibibytes = /^Pss: +(\d+) kB/m.exec(text)?.[1];
  if (kibibytes === undefined) throw new Error('no Pss');
  return Number(kibibytes) * 1024;
}
