import { describe, expect, it } from 'vitest';
import { freeNow } from '../../src/http/free-now.js';

describe('freeNow', () => {
  it('gives memory back before any collection', () => {
    const MiB = 2 ** 20;
    const before = process.memoryUsage().arrayBuffers;
    const buffers = Array.from({ length: 8 }, () => Buffer.allocUnsafeSlow(MiB));
    expect(process.memoryUsage().arrayBuffers - before).toBeGreaterThanOrEqual(8 * MiB);
    freeNow(buffers);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(MiB);
    expect(buffers.map(({ length }) => length)).toEqual(Array(8).fill(0));
  });

  it('leaves alone what other buffers use', () => {
    const whole = Buffer.allocUnsafeSlow(100).fill(7);
    freeNow([whole.subarray(0, 50), whole.subarray(50)]);
    expect(whole.every((byte) => byte === 7)).toBe(true);
    const pooled = Buffer.from('from the pool that small buffers share');
    freeNow([pooled]);
    expect(pooled.toString()).toBe('from the pool that small buffers share');
  });

  it('takes what has no memory of its own, or has it no more', () => {
    const shared = Buffer.from(new SharedArrayBuffer(16));
    freeNow([]);
    freeNow([Buffer.alloc(0), shared]);
    expect(shared).toHaveLength(16);
    const freed = Buffer.allocUnsafeSlow(16);
    freeNow([freed]);
    freeNow([freed]);
    expect(freed).toHaveLength(0);
  });
});
