import { readdirSync, readFileSync } from 'node:fs';

/** Linux only: what a process has used, from /proc. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

export function cpuSeconds(pid: number): number {
  const fields = statFields(pid);
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

export function rssBytes(pid: number): number {
  return Number(readFileSync(`/proc/${String(pid)}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES;
}

/** Like the resident size, but pages that several processes share count once in all. */
export function pssBytes(pid: number): number {
  const text = readFileSync(`/proc/${String(pid)}/smaps_rollup`, 'utf8');
  return Number(/^Pss: +(\d+) kB/m.exec(text)?.[1] ?? Number.NaN) * 1024;
}

export function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((candidate) => {
      try {
        return Number(statFields(candidate)[1]) === pid;
      } catch {
        return false;
      }
    });
}

/** Children, their children and so on. */
export function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

/** What a process below the server is for, by how it was started. */
export function roleOf(pid: number): string {
  const read = (file: string): string => {
    try {
      return readFileSync(`/proc/${String(pid)}/${file}`, 'latin1');
    } catch {
      return '';
    }
  };
  if (read('cmdline').includes('engine-process')) return 'engine';
  const isClustered = /(^|\0)NODE_UNIQUE_ID=/.test(read('environ'));
  return isClustered || read('cmdline').includes('/front/') ? 'front' : 'other';
}

/** Fields after the command name, which may itself hold spaces and brackets. */
function statFields(pid: number): string[] {
  const text = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}
