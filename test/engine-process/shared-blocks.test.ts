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
    const large = blocks.take(5_000_000);
    expect([isKept(large.buffer), isKept(blocks.take(1000).buffer)]).toEqual([false, true]);
    giveBack(large.buffer);
    expect(blocks.take(5_000_000).buffer).not.toBe(large.buffer);
  });
});
