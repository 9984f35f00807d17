import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type Holder, isAbandoned, isAlive, thisHolder } from './lock-holder.js';

interface LockFile extends Holder {
  readonly token: string;
}

/** @throws an Error once somebody else has the lock. For before what cannot be undone. */
export type CheckHeld = () => Promise<void>;

const BEAT_MS = 5000;
const POLL_MS = 500;

/**
 * Runs one action at a time per lock file, over all processes. Others wait; a lock whose holder was
 * killed is taken over. Whoever finds its own lock taken over, having slept for long, ends.
 */
export async function withLock<T>(
  path: string,
  onWait: (pid: number | undefined) => void,
  action: (checkHeld: CheckHeld) => Promise<T>,
  beatMs = BEAT_MS,
): Promise<T> {
  const own: LockFile = { ...thisHolder(), token: randomUUID() };
  let hasTold = false;
  while (!(await tryTake(path, own))) {
    if (!hasTold) onWait((await readHolder(path))?.pid);
    hasTold = true;
    await delay(POLL_MS);
  }
  const checkHeld = (): Promise<void> => checkToken(path, own.token);
  let timer: NodeJS.Timeout | undefined;
  const lost = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      beat(path, checkHeld).catch(reject);
    }, beatMs);
  });
  try {
    return await Promise.race([action(checkHeld), lost]);
  } finally {
    clearInterval(timer);
    if ((await readHolder(path))?.token === own.token) await rm(path, { force: true });
  }
}

async function beat(path: string, checkHeld: CheckHeld): Promise<void> {
  await checkHeld();
  const now = new Date();
  await attempt(utimes(path, now, now));
}

async function checkToken(path: string, token: string): Promise<void> {
  if ((await readHolder(path))?.token === token) return;
  // Whoever has moved it by mistake gives it back at once.
  await delay(POLL_MS);
  if ((await readHolder(path))?.token === token) return;
  throw new Error(
    `another process has taken over ${path}, since this one was silent for long; call it again`,
  );
}

async function tryTake(path: string, own: LockFile): Promise<boolean> {
  try {
    await writeFile(path, JSON.stringify(own), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const ageMs = Date.now() - ((await attempt(stat(path)))?.mtimeMs ?? Date.now());
  const found = await readHolder(path);
  if (isAbandoned(found, ageMs, own, isAlive)) {
    // Moved, not removed: of several that see it, only one gets it out of the way.
    const aside = `${path}.${own.token}`;
    await attempt(rename(path, aside));
    // A quicker one may have taken it over meanwhile; then it is given back.
    if ((await readHolder(aside))?.token !== found?.token) await attempt(link(aside, path));
    await rm(aside, { force: true });
    return tryTake(path, own);
  }
  return false;
}

async function readHolder(path: string): Promise<LockFile | undefined> {
  const text = await attempt(readFile(path, 'utf8'));
  try {
    return JSON.parse(text ?? '') as LockFile;
  } catch {
    return undefined;
  }
}

async function attempt<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch {
    return undefined;
  }
}
