import { describe, expect, it } from 'vitest';
import { type BatchRules, decideBatch } from '../../src/engine-process/policy.js';
import { QUIET } from '../helpers/quiet-view.js';

const by: BatchRules = {
  mode: 'fixed',
  sessions: 1,
  maxBatch: 4,
  windowMs: 10,
  curve: [
    { batch: 1, ms: 2.23 },
    { batch: 4, ms: 2.33 },
  ],
};
const narrow = (size: number) => ({ kind: 'run', session: 'narrow', size, extra: 0 });

describe('the fixed window', () => {
  const at = (waiting: number, oldestMs: number, slackMs = 1000) =>
    decideBatch({ ...QUIET, waiting, oldestMs, slackMs }, by);

  it('collects for ten milliseconds or until the batch is full', () => {
    expect(at(1, 0)).toEqual({ kind: 'wait', forMs: 10 });
    expect(at(3, 4)).toEqual({ kind: 'wait', forMs: 6 });
    expect(at(3, 10)).toEqual(narrow(3));
    expect(at(4, 0)).toEqual(narrow(4));
    expect(at(9, 0)).toEqual(narrow(4));
  });

  it('ends in time for a deadline, with time to spare', () => {
    expect(at(1, 0, 12)).toEqual({ kind: 'wait', forMs: 6 });
    expect(at(1, 6, 6)).toEqual(narrow(1));
    expect(at(1, 0, 5)).toEqual({ kind: 'wait', forMs: 5 - 2 * 2.23 });
    expect(at(1, 0, 4)).toEqual(narrow(1));
  });

  it('ends when half of the time is over where nothing was measured', () => {
    const unmeasured = { ...by, curve: [], windowMs: 1000 };
    const see = (oldestMs: number, slackMs: number) =>
      decideBatch({ ...QUIET, waiting: 1, oldestMs, slackMs }, unmeasured);
    expect(see(0, 300)).toEqual({ kind: 'wait', forMs: 150 });
    expect(see(150, 150)).toEqual(narrow(1));
    expect(see(0, 2500)).toEqual({ kind: 'wait', forMs: 1000 });
  });
});
