import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { isAbandoned, withLock } from '../../src/gpu/install/lock.js';

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
    const gone = { pid: 2 ** 22 + 1, host: hostname(), token: 'x' };
    writeFileSync(path, JSON.stringify(gone));
    expect(await withLock(path, never, () => Promise.resolve('done'))).toBe('done');
    const long = new Date(Date.now() - 120_000);
    for (const text of [JSON.stringify({ pid: 1, host: 'elsewhere', token: 'y' }), 'damaged']) {
      writeFileSync(path, text);
      utimesSync(path, long, long);
      expect(await withLock(path, never, () => Promise.resolve('done'))).toBe('done');
    }
  });

  it('is not taken from a process that lives, or may live on another machine', () => {
    const [alive, dead] = [() => true, () => false];
    expect(isAbandoned({ pid: 1, host: 'here' }, 0, 'here', alive)).toBe(false);
    expect(isAbandoned({ pid: 1, host: 'here' }, 0, 'here', dead)).toBe(true);
    expect(isAbandoned({ pid: 1, host: 'there' }, 0, 'here', dead)).toBe(false);
    expect(isAbandoned({ pid: 1, host: 'there' }, 61_000, 'here', alive)).toBe(true);
    expect(isAbandoned(undefined, 0, 'here', dead)).toBe(false);
  });
});
