import { describe, expect, it } from 'vitest';
import { HangWatch, patienceMs } from '../../src/engine-process/hang-watch.js';

describe('HangWatch', () => {
  const looks = (watch: HangWatch<{ busySince: number | undefined }>, count: number): unknown[] =>
    Array.from({ length: count }, () => watch.look());

  it('finds a lane that has had the same thing in hand for the whole time', () => {
    const [busy, idle] = [{ busySince: 5 }, { busySince: undefined }];
    const watch = new HangWatch([idle, busy], 1000);
    expect(watch.everyMs).toBe(250);
    expect(looks(watch, 5)).toEqual([undefined, undefined, undefined, undefined, busy]);
  });

  it('does not mind a lane that always has something else', () => {
    const lane: { busySince: number | undefined } = { busySince: 0 };
    const watch = new HangWatch([lane], 1000);
    for (let turn = 0; turn < 40; turn++) {
      if (turn % 4 === 0) lane.busySince = turn;
      expect(watch.look()).toBeUndefined();
    }
  });

  it('begins anew when a lane was idle', () => {
    const lane: { busySince: number | undefined } = { busySince: 1 };
    const watch = new HangWatch([lane], 1000);
    looks(watch, 4);
    lane.busySince = undefined;
    watch.look();
    lane.busySince = 1;
    expect(looks(watch, 5)).toEqual([undefined, undefined, undefined, undefined, lane]);
  });

  it('looks more often where the timeout is short', () => {
    const lane = { busySince: 1 };
    const watch = new HangWatch([lane], 100);
    expect(watch.everyMs).toBe(25);
    expect(looks(watch, 5).at(-1)).toBe(lane);
  });
});

describe('how long a lane may take', () => {
  const plan = { sessions: 1, threads: 1, maxBatch: 64, wideThreads: 0 };

  it('is what is set, where nothing was measured or batches are quick', () => {
    expect(patienceMs({ hangTimeoutMs: 1000, curve: [], plan })).toBe(1000);
    const curve = [{ batch: 64, ms: 100 }];
    expect(patienceMs({ hangTimeoutMs: 1000, curve, plan })).toBe(1000);
  });

  it('is five times what the largest batch was measured to take, where that is more', () => {
    const curve = [{ batch: 1, ms: 30 }];
    expect(patienceMs({ hangTimeoutMs: 1000, curve, plan })).toBe(5 * 64 * 30);
  });
});
