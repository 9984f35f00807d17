import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { withLock } from '../../src/gpu/install/lock.js';
import {
  type Holder,
  isAbandoned,
  isAlive,
  startIn,
  thisHolder,
} from '../../src/gpu/install/lock-holder.js';

const HERE = { host: 'here', namespace: 'pid:[1]' };
const [ALIVE, DEAD] = [() => true, () => false];
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'shoal-lock-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

describe('the lock', () => {
  it('lets one in at a time, tells the others whom they wait for, and goes away', async () => {
    const path = join(folder, 'lock');
    let inside = 0;
    const waitedFor: (number | undefined)[] = [];
    const action = async () => {
      inside++;
      expect(inside).toBe(1);
      await vi.waitFor(() => {
        expect(waitedFor).toHaveLength(2);
      });
      inside--;
    };
    const onWait = (pid: number | undefined) => waitedFor.push(pid);
    await Promise.all([1, 2, 3].map(() => withLock(path, onWait, action)));
    // A lock that is just being made does not say yet whose it is.
    for (const pid of waitedFor) expect([process.pid, undefined]).toContain(pid);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('goes away when the action fails', async () => {
    const path = join(folder, 'lock');
    const failing = withLock(
      path,
      () => undefined,
      () => Promise.reject(new Error('disk full')),
    );
    await expect(failing).rejects.toThrow('disk full');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is taken over at once from a process that is gone, and later from one that is silent', async () => {
    const path = join(folder, 'lock');
    const never = () => {
      throw new Error('it waits');
    };
    // No process has this number.
    const gone = { ...thisHolder(), pid: 2 ** 22 + 1, token: 'x' };
    writeFileSync(path, JSON.stringify(gone));
    expect(await withLock(path, never, () => Promise.resolve('done'))).toBe('done');
    const long = new Date(Date.now() - 120_000);
    for (const text of [JSON.stringify({ pid: 1, host: 'elsewhere', token: 'y' }), 'damaged']) {
      writeFileSync(path, text);
      utimesSync(path, long, long);
      expect(await withLock(path, never, () => Promise.resolve('done'))).toBe('done');
    }
  });

  it('is not taken from a process that lives, however long it was silent', () => {
    const holder = { pid: 1, ...HERE };
    expect(isAbandoned(holder, 0, HERE, ALIVE)).toBe(false);
    expect(isAbandoned(holder, 3_600_000, HERE, ALIVE)).toBe(false);
    expect(isAbandoned(holder, 0, HERE, DEAD)).toBe(true);
    const withoutNamespaces = { pid: 1, host: 'here' };
    expect(isAbandoned(withoutNamespaces, 0, { host: 'here' }, DEAD)).toBe(true);
  });

  it.each<[string, Holder | undefined]>([
    ['on another machine', { pid: 1, host: 'there', namespace: 'pid:[1]' }],
    ['in another container', { pid: 1, host: 'here', namespace: 'pid:[2]' }],
    ['of an unknown container', { pid: 1, host: 'here' }],
    ['that does not say its name', undefined],
  ])('is taken from a process %s only when it is silent', (_, holder) => {
    expect(isAbandoned(holder, 0, HERE, DEAD)).toBe(false);
    expect(isAbandoned(holder, 61_000, HERE, ALIVE)).toBe(true);
  });

  it('knows a process from a later one with the same number', () => {
    const own = thisHolder();
    expect(isAlive(own)).toBe(true);
    expect(isAlive({ ...own, started: undefined })).toBe(true);
    if (process.platform === 'linux') expect(isAlive({ ...own, started: '1' })).toBe(false);
    const before = 'S 1 1 1 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 7 0';
    expect(startIn(`12 (a b) c) ${before} 8643 999 1`)).toBe('8643');
  });

  it('ends an action when somebody else has taken it over meanwhile', async () => {
    const path = join(folder, 'lock');
    const other = JSON.stringify({ pid: 1, host: 'elsewhere', token: 'y' });
    const steal = () => {
      writeFileSync(path, other);
      return new Promise<never>(() => undefined);
    };
    const stolen = withLock(path, () => undefined, steal, 10);
    await expect(stolen).rejects.toThrow(/another process has taken over .*lock/);
    expect(readFileSync(path, 'utf8')).toBe(other);
  });

  it('can be looked at before what cannot be undone', async () => {
    const path = join(folder, 'lock');
    const action = async (checkHeld: () => Promise<void>) => {
      await checkHeld();
      rmSync(path);
      await checkHeld();
    };
    await expect(withLock(path, () => undefined, action)).rejects.toThrow(/taken over/);
  });
});
