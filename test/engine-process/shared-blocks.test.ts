import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Block,
  giveBack,
  isKept,
  SharedBlocks,
  viewOf,
} from '../../src/engine-process/shared-blocks.js';

describe('blocks of shared memory', () => {
  it('are never given out twice, and are announced before they are', () => {
    const step = fc.record({ bytes: fc.integer({ min: 1, max: 3e6 }), frees: fc.nat(5) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const known = new Set<SharedArrayBuffer>();
        const blocks = new SharedBlocks(({ buffer }) => known.add(buffer));
        const used: Block[] = [];
        for (const { bytes, frees } of steps) {
          const block = blocks.take(bytes);
          expect(known.has(block.buffer)).toBe(true);
          expect(used).not.toContain(block);
          expect(viewOf(block.buffer, bytes)).toHaveLength(bytes);
          used.push(block);
          for (const { buffer } of used.splice(0, frees)) giveBack(buffer);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('are used again, except very large ones', () => {
    let count = 0;
    const blocks = new SharedBlocks(() => count++);
    for (let turn = 0; turn < 10; turn++) giveBack(blocks.take(150_000).buffer);
    expect(count).toBe(1);
    for (let turn = 0; turn < 10; turn++) giveBack(blocks.take(5_000_000).buffer);
    expect(count).toBe(2);
    const huge = blocks.take(200_000_000);
    expect([isKept(huge.buffer), isKept(blocks.take(1000).buffer)]).toEqual([false, true]);
    giveBack(huge.buffer);
    expect(blocks.take(200_000_000).buffer).not.toBe(huge.buffer);
  });

  /** What whoever knows blocks by their numbers holds, in MiB. */
  function heldBy(known: ReadonlyMap<number, Block>): number {
    const bytes = [...known.values()].reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
    return bytes / 2 ** 20;
  }

  it('are made for what is in use at once, not for what comes', () => {
    const known = new Map<number, Block>();
    let made = 0;
    const blocks = new SharedBlocks((block) => {
      made++;
      known.set(block.number, block);
    });
    for (let turn = 0; turn < 200; turn++) {
      const used = [2, 3, 5, 9, 17].map((mib) => blocks.take((mib + (turn % 2)) * 2 ** 20));
      for (const { buffer } of used) giveBack(buffer);
    }
    expect(made).toBeLessThan(10);
    expect(heldBy(known)).toBeLessThan(150);
  });

  it('are given up when far fewer are in use than once were', () => {
    const known = new Map<number, Block>();
    const blocks = new SharedBlocks((block) => known.set(block.number, block));
    const used = Array.from({ length: 40 }, () => blocks.take(4 * 2 ** 20));
    expect(heldBy(known)).toBeGreaterThan(160);
    for (const { buffer } of used) giveBack(buffer);
    for (let turn = 0; turn < 200; turn++) giveBack(blocks.take(4 * 2 ** 20).buffer);
    expect(heldBy(known)).toBeLessThan(33);
  });
});
