import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isStuck, type RunnerState } from '../../src/jobs/job-monitor.js';

const MINUTE = 60_000;
const now = { time: 10 * MINUTE, clock: 5 * MINUTE };
const runner = (changes: Partial<RunnerState> = {}): RunnerState => ({
  model: { name: 'm', engine: { isReady: true } },
  isHeld: false,
  slots: 4,
  active: 0,
  movedAt: 0,
  ...changes,
});
const waiting = { m: { count: 3, since: 0 } };

describe('isStuck', () => {
  it('notices jobs that wait for long while nothing moves', () => {
    expect(isStuck(runner(), waiting, now)).toBe(true);
    expect(isStuck(runner({ active: 3 }), waiting, now)).toBe(true);
  });

  it.each([
    ['nothing waits', runner(), {}],
    ['only others wait', runner(), { other: { count: 3, since: 0 } }],
    ['they have just come', runner(), { m: { count: 3, since: now.time - 1000 } }],
    ['something has just moved', runner({ movedAt: now.clock - 1000 }), waiting],
    ['its model takes nothing', runner({ isHeld: true }), waiting],
    ['all slots are at work', runner({ active: 4 }), waiting],
    [
      'the engine is being replaced',
      runner({ model: { name: 'm', engine: { isReady: false } } }),
      waiting,
    ],
  ])('is calm when %s', (_name, state, stats) => {
    expect(isStuck(state, stats, now)).toBe(false);
  });

  it('never complains about a runner that has moved within the last minute', () => {
    fc.assert(
      fc.property(fc.nat(MINUTE), fc.nat(1000), fc.nat(now.time), (ago, count, since) => {
        const state = runner({ movedAt: now.clock - ago });
        expect(isStuck(state, { m: { count, since } }, now)).toBe(false);
      }),
    );
  });
});
