import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Whoever has a lock. A number alone does not name a process: containers count anew. */
export interface Holder {
  readonly pid: number;
  readonly host: string;
  /** The pid namespace, on systems that have them. */
  readonly namespace?: string | undefined;
  /** When the process was started, where the system tells: numbers are given again. */
  readonly started?: string | undefined;
}

const STALE_MS = 60_000;

export function thisHolder(): Holder {
  const { pid } = process;
  return { pid, host: hostname(), namespace: ownNamespace(), started: startOf(pid) };
}

/**
 * Whether whoever holds a lock is gone. Here, only whether it lives counts: it may have been
 * stopped, or the machine asleep. Elsewhere nothing but the age of its last sign tells.
 */
export function isAbandoned(
  holder: Holder | undefined,
  ageMs: number,
  here: Pick<Holder, 'host' | 'namespace'>,
  isAlive: (holder: Holder) => boolean,
): boolean {
  const isHere = holder?.host === here.host && holder.namespace === here.namespace;
  return isHere ? !isAlive(holder) : ageMs > STALE_MS;
}

/** Only for holders in this namespace. */
export function isAlive({ pid, started }: Holder): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  return started === undefined || started === (startOf(pid) ?? started);
}

/** Field 22 of its state. The name before it may have spaces and brackets of its own. */
export function startIn(stat: string): string | undefined {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

function startOf(pid: number): string | undefined {
  return attempt(() => startIn(readFileSync(`/proc/${String(pid)}/stat`, 'utf8')));
}

function ownNamespace(): string | undefined {
  return attempt(() => readlinkSync('/proc/self/ns/pid'));
}

function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
