import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ClockGuard, skewOf } from '../../../src/jobs/redis/clock-guard.js';
import type { Link } from '../../../src/jobs/redis/link.js';
import { SILENT } from '../../helpers/redis-store.js';

describe('the difference of two clocks', () => {
  it('is none when the answer was written between question and arrival', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(1000), fc.nat(1000), (askedAt, there, back) => {
        expect(skewOf(askedAt + there, askedAt, askedAt + there + back)).toBe(0);
      }),
    );
  });

  it('is at most the real one, and not more than the time of the answer away from it', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.integer({ min: -1e6, max: 1e6 }),
        fc.nat(1000),
        fc.nat(1000),
        (askedAt, skew, there, back) => {
          const found = skewOf(askedAt + there - skew, askedAt, askedAt + there + back);
          expect(Math.abs(found)).toBeLessThanOrEqual(Math.abs(skew));
          expect(Math.abs(found - skew)).toBeLessThanOrEqual(Math.max(there, back));
        },
      ),
    );
  });
});

describe('whoever compares clocks', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('tells once when they differ too much, and once when they agree again', async () => {
    let aheadMs = 0;
    const said: string[] = [];
    const link = {
      call: () => {
        const redisMs = Date.now() - aheadMs;
        return Promise.resolve([Math.floor(redisMs / 1000), (redisMs % 1000) * 1000]);
      },
    };
    const log = {
      ...SILENT,
      error: (line: unknown) => said.push(String(line)),
      info: () => said.push('right'),
    };
    const guard = new ClockGuard(link as unknown as Link, log);
    let changes = 0;
    guard.onChange(() => changes++);
    const look = async (ms: number): Promise<boolean> => {
      aheadMs = ms;
      return guard.check();
    };
    expect([await look(0), await look(29_000), await look(-29_000)]).toEqual([true, true, true]);
    expect([await look(60_000), await look(61_000)]).toEqual([false, false]);
    expect([await look(-90_000), guard.isRight]).toEqual([false, false]);
    expect(guard.detail).toMatch(/90 s behind/);
    expect(await look(1000)).toBe(true);
    expect(said).toEqual([expect.stringMatching(/60 s ahead of/), 'right']);
    expect(changes).toBe(2);
  });
});
