import { describe, expect, it } from 'vitest';
import { threadCounts } from '../../../bench/gpu/decode.js';
import { PARTS, parseOptions } from '../../../bench/gpu/options.js';

describe('options', () => {
  it('are everything on all devices when none are given', () => {
    const options = parseOptions([]);
    expect(options.parts).toEqual(PARTS);
    expect(options.devices).toEqual(['cuda', 'webgpu', 'cpu']);
    expect(options.seconds.soak).toBe(300);
    expect(options.limits.soak).toBeGreaterThan(300);
  });

  it('set the seconds and limits of single parts', () => {
    const { seconds, limits } = parseOptions(['--seconds', 'soak=60,raw=1', '--limits', 'raw=9']);
    expect(seconds).toMatchObject({ soak: 60, raw: 1, served: 6 });
    expect(limits.raw).toBe(9);
  });

  it('make everything short when it is to be quick, except what is set', () => {
    const { seconds, concurrency } = parseOptions(['--quick', '--seconds', 'soak=60']);
    expect(seconds.served).toBe(1);
    expect(seconds.soak).toBe(60);
    expect(concurrency).toEqual([8, 32]);
  });

  it('hand flags after two dashes to the server', () => {
    expect(parseOptions(['--quick', '--', '--max-batch', '8']).serverFlags).toEqual([
      '--max-batch',
      '8',
    ]);
  });

  it.each([
    ['--parts', 'raw,nothing'],
    ['--devices', 'abacus'],
    ['--budget', '-1'],
    ['--batches', '1,x'],
    ['--seconds', 'soak'],
    ['--seconds', 'sock=3'],
    ['--unknown', '1'],
  ])('refuse %s %s', (...args) => {
    expect(() => parseOptions(args)).toThrow();
  });
});

describe('numbers of threads', () => {
  it('double up to all cores', () => {
    expect(threadCounts(1)).toEqual([1]);
    expect(threadCounts(2)).toEqual([1, 2]);
    expect(threadCounts(12)).toEqual([1, 2, 4, 8, 12]);
  });
});
