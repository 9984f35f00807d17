import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly token: string;
}

const BEAT_MS = 5000;
const STALE_MS = 60_000;
const POLL_MS = 500;

/** Whether whoever holds a lock is gone. On other machines only the age of its last sign tells. */
export function isAbandoned(
  holder: { readonly pid: number; readonly host: string } | undefined,
  ageMs: number,
  here: string,
  isAlive: (pid: number) => boolean,
): boolean {
  if (ageMs > STALE_MS) return true;
  return holder?.host === here && !isAlive(holder.pid);
}

/**
 * Runs one action at a time per lock file, over all processes. Others wait; a lock whose holder was
 * killed is taken over.
 */
export async function withLock<T>(
  path: string,
  onWait: (pid: number | undefined) => void,
  action: () => Promise<T>,
): Promise<T> {
  const token = randomUUID();
  const holder: Holder = { pid: process.pid, host: hostname(), token };
  let hasTold = false;
  while (!(await tryTake(path, holder))) {
    if (!hasTold) onWait((await readHolder(path))?.pid);
    hasTold = true;
    await delay(POLL_MS);
  }
  const beat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => undefined);
  }, BEAT_MS);
  try {
    return await action();
  } finally {
    clearInterval(beat);
    if ((await readHolder(path))?.token === token) await rm(path, { force: true });
  }
}

async function tryTake(path: string, holder: Holder): Promise<boolean> {
  try {
    await writeFile(path, JSON.stringify(holder), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const ageMs = Date.now() - ((await attempt(stat(path)))?.mtimeMs ?? Date.now());
  const found = await readHolder(path);
  if (isAbandoned(found, ageMs, hostname(), isAlive)) {
    // Moved, not removed: of several that see it, only one gets it out of the way.
    const aside = `${path}.${holder.token}`;
    await attempt(rename(path, aside));
    // A quicker one may have taken it over meanwhile; then it is given back.
    if ((await readHolder(aside))?.token !== found?.token) await attempt(link(aside, path));
    await rm(aside, { force: true });
    return tryTake(path, holder);
  }
  return false;
}

async function readHolder(path: string): Promise<Holder | undefined> {
  const text = await attempt(readFile(path, 'utf8'));
  try {
    return JSON.parse(text ?? '') as Holder;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function attempt<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch {
    return undefined;
  }
}
