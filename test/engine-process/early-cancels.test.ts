import { describe, expect, it } from 'vitest';
import { EarlyCancels } from '../../src/engine-process/early-cancels.js';

describe('cancellations that come early', () => {
  it('are about one item each', () => {
    const early = new EarlyCancels();
    early.add(5);
    expect([early.take(4), early.take(5), early.take(5)]).toEqual([false, true, false]);
  });

  it('are forgotten when many have come after them', () => {
    const early = new EarlyCancels();
    for (let id = 1; id <= 5000; id++) early.add(id);
    expect([early.take(1), early.take(3000), early.take(4500)]).toEqual([false, false, true]);
  });
});
