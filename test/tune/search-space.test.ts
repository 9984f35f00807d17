import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countSizes, type Line, linesFor, nextMaxBatch } from '../../src/tune/search-space.js';

const LINE: Line = { sessions: 2, threads: 1, windowMs: undefined };

/** The sizes that are tried when each reaches what `rates` say. */
function sizesFor(line: Line, largest: number, rates: (maxBatch: number) => number): number[] {
  const tried: { maxBatch: number; imagesPerSecond: number }[] = [];
  for (;;) {
    const maxBatch = nextMaxBatch(line, tried, largest);
    if (maxBatch === undefined) return tried.map((one) => one.maxBatch);
    tried.push({ maxBatch, imagesPerSecond: rates(maxBatch) });
  }
}

describe('the lines of a search', () => {
  it('are the splits, with adaptive batching and each window', () => {
    expect(linesFor('cpu', 2, [])).toEqual([
      { sessions: 2, threads: 1, windowMs: undefined },
      { sessions: 1, threads: 2, windowMs: undefined },
    ]);
    expect(linesFor('cpu', 2, [0, 5]).map(({ windowMs }) => windowMs)).toEqual([
      ...[undefined, 0, 5],
      ...[undefined, 0, 5],
    ]);
    expect(linesFor('cpu', 1, [])).toHaveLength(1);
  });

  it('are sessions where cores do not matter', () => {
    expect(linesFor('cuda', 16, []).map(({ sessions }) => sessions)).toEqual([1, 2]);
    expect(linesFor('webgpu', 16, [5])).toEqual([
      { sessions: 1, threads: 1, windowMs: undefined },
      { sessions: 1, threads: 1, windowMs: 5 },
    ]);
  });
});

describe('batch sizes', () => {
  it('double as long as that brings more', () => {
    expect(sizesFor(LINE, 128, (size) => size)).toEqual([1, 2, 4, 8, 16, 32, 64, 128]);
  });

  it('end where throughput clearly falls, and not where it falls a little', () => {
    expect(sizesFor(LINE, 128, (size) => (size > 4 ? 50 : 100 + 10 * size))).toEqual([1, 2, 4, 8]);
    const dip = [100, 95, 120, 130, 131, 129];
    expect(sizesFor(LINE, 128, (size) => dip[Math.log2(size)] as number)).toEqual([
      1, 2, 4, 8, 16, 32,
    ]);
  });

  it('end where throughput stays the same', () => {
    expect(sizesFor(LINE, 128, () => 100)).toEqual([1, 2, 4]);
  });

  it('end at the largest one, which is tried itself', () => {
    expect(sizesFor(LINE, 6, (size) => size)).toEqual([1, 2, 4, 6]);
    expect(sizesFor(LINE, 1, (size) => size)).toEqual([1]);
  });

  it('begin with two where a window is tried, since it means nothing for one', () => {
    const line = { ...LINE, windowMs: 5 };
    expect(sizesFor(line, 4, (size) => size)).toEqual([2, 4]);
    expect(sizesFor(line, 1, (size) => size)).toEqual([]);
  });

  it('are as many as counted before, at most', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 256 }),
        fc.constantFrom(undefined, 0, 5),
        fc.func(fc.double({ min: 0, max: 1000, noNaN: true })),
        (largest, windowMs, rates) => {
          const line = { ...LINE, windowMs };
          const most = countSizes(line, largest);
          expect(sizesFor(line, largest, rates).length).toBeLessThanOrEqual(most);
          expect(sizesFor(line, largest, (size) => size)).toHaveLength(most);
        },
      ),
    );
  });
});
