import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Runtime } from '../../src/engine-process/runtime.js';
import { warmUp } from '../../src/engine-process/warm-up.js';

const input = { width: 2, height: 2 };
const pixels = new Uint8Array(64 * 12);

/** A session that remembers what it ran, and what it takes. */
function session(maxImages = Infinity, msEach = 0) {
  const ran: number[] = [];
  const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
  const runtime: Runtime = {
    provider: 'fake',
    run: (given, count) => {
      expect(given).toHaveLength(count * 12);
      ran.push(count);
      clock.mockReturnValue(ran.length * msEach);
      if (count > maxImages) return Promise.reject(new Error('CUDA failure 2: out of memory'));
      return Promise.resolve({});
    },
  };
  return { runtime, ran };
}

describe('warmUp', () => {
  afterEach(() => vi.restoreAllMocks());

  it('runs every size once, as it will run in service', async () => {
    const { runtime, ran } = session();
    const engine = { buckets: [4, 16, 64], input, warmUpMs: 1000 };
    expect(await warmUp(runtime, engine, [1, 2, 8, 16, 40], pixels)).toBeUndefined();
    expect(ran).toEqual([4, 16, 64]);
  });

  it('begins nothing more when the time is over', async () => {
    const { runtime, ran } = session(Infinity, 400);
    await warmUp(runtime, { buckets: [], input, warmUpMs: 1000 }, [1, 2, 4, 8, 16], pixels);
    expect(ran).toEqual([1, 2, 4]);
  });

  it('says what fits into memory', async () => {
    const { runtime } = session(6);
    const engine = { buckets: [], input, warmUpMs: 1000 };
    expect(await warmUp(runtime, engine, [1, 4, 8, 16], pixels)).toBe(4);
  });

  it('fails when not even the first does', async () => {
    const { runtime } = session(0);
    const engine = { buckets: [], input, warmUpMs: 1000 };
    await expect(warmUp(runtime, engine, [1, 4], pixels)).rejects.toThrow('out of memory');
  });
});
