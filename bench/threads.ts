import { readdirSync, readFileSync } from 'node:fs';

/** Linux only: CPU time of threads, from /proc. */
const TICKS_PER_SECOND = 100;

export interface ThreadTime {
  readonly tid: number;
  readonly name: string;
  readonly seconds: number;
}

/** What threads of one process have used so far. The main thread has the id of the process. */
export interface ProcessTime {
  readonly pid: number;
  readonly role: string;
  readonly threads: readonly ThreadTime[];
}

export function parseThread(tid: number, stat: string): ThreadTime {
  const [open, close] = [stat.indexOf('('), stat.lastIndexOf(')')];
  const fields = stat.slice(close + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  return { tid, name: stat.slice(open + 1, close), seconds: ticks / TICKS_PER_SECOND };
}

/** Threads that end while they are being read are left out. */
export function readProcess(pid: number, role: string): ProcessTime {
  const folder = `/proc/${String(pid)}/task`;
  const threads = list(folder).flatMap((tid) => {
    try {
      return [parseThread(tid, readFileSync(`${folder}/${String(tid)}/stat`, 'utf8'))];
    } catch {
      return [];
    }
  });
  return { pid, role, threads };
}

function list(folder: string): number[] {
  try {
    return readdirSync(folder).map(Number);
  } catch {
    return [];
  }
}

/** CPU per request of one thread. */
export interface ThreadUse {
  readonly name: string;
  readonly ms: number;
}

export interface ProcessUse {
  readonly role: string;
  readonly pid: number;
  readonly ms: number;
  readonly main: number;
  /** All but the main thread, the busiest first. */
  readonly others: readonly ThreadUse[];
}

/**
 * CPU milliseconds per request between two readings. What was not there before counts from zero;
 * what has gone meanwhile is lost.
 */
export function useBetween(
  before: readonly ProcessTime[],
  after: readonly ProcessTime[],
  requests: number,
): ProcessUse[] {
  return after.map(({ pid, role, threads }) => {
    const old = before.find((one) => one.pid === pid)?.threads ?? [];
    const uses = threads.map(({ tid, name, seconds }) => {
      const since = old.find((one) => one.tid === tid)?.seconds ?? 0;
      return { tid, name, ms: ((seconds - since) * 1000) / requests };
    });
    const others = uses
      .filter(({ tid }) => tid !== pid)
      .toSorted((a, b) => b.ms - a.ms)
      .map(({ name, ms }) => ({ name, ms }));
    return {
      role,
      pid,
      ms: uses.reduce((sum, use) => sum + use.ms, 0),
      main: uses.find(({ tid }) => tid === pid)?.ms ?? 0,
      others,
    };
  });
}

/** The CPU of all processes of one role. */
export function msOfRole(uses: readonly ProcessUse[], role: string): number {
  return uses.filter((use) => use.role === role).reduce((sum, { ms }) => sum + ms, 0);
}
