import { describe, expect, it } from 'vitest';
import { MemoryCeiling } from '../../src/engine-process/memory-ceiling.js';

const MINUTE = 60_000;

describe('the memory ceiling', () => {
  it('is what is planned until something does not fit', () => {
    const ceiling = new MemoryCeiling(64);
    expect(ceiling.maxBatch(1e12)).toBe(64);
    ceiling.hit(16, 0);
    ceiling.hit(32, 1);
    expect(ceiling.maxBatch(2)).toBe(16);
    ceiling.hit(0, 3);
    expect(ceiling.maxBatch(4)).toBe(1);
  });

  it('is lifted after a while, and later when it was hit again', () => {
    const ceiling = new MemoryCeiling(64);
    ceiling.hit(16, 0);
    expect(ceiling.maxBatch(10 * MINUTE - 1)).toBe(16);
    expect(ceiling.maxBatch(10 * MINUTE)).toBe(64);
    ceiling.hit(32, 11 * MINUTE);
    expect(ceiling.maxBatch(31 * MINUTE - 1)).toBe(32);
    expect(ceiling.maxBatch(31 * MINUTE)).toBe(64);
    let now = 31 * MINUTE;
    for (let times = 0; times < 20; times++) ceiling.hit(32, now);
    now += 4 * 60 * MINUTE;
    expect(ceiling.maxBatch(now - 1)).toBe(32);
    expect(ceiling.maxBatch(now)).toBe(64);
  });

  it('does not hold for what is no less than planned', () => {
    const ceiling = new MemoryCeiling(32);
    ceiling.hit(32, 0);
    ceiling.hit(16, 1);
    expect(ceiling.maxBatch(10 * MINUTE + 1)).toBe(32);
  });
});
