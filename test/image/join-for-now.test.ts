import { describe, expect, it } from 'vitest';
import { joinForNow } from '../../src/image/join-for-now.js';

describe('pieces that are joined for now', () => {
  it('are all there, in order, whatever was joined before', () => {
    expect(joinForNow([Buffer.from('a longer text'), Buffer.from(', before')])).toHaveLength(21);
    expect(joinForNow([Buffer.from('ab'), Buffer.alloc(0), Buffer.from('cde')]).toString()).toBe(
      'abcde',
    );
    expect(joinForNow([])).toHaveLength(0);
  });

  it('share one block, which is only kept where it is small', () => {
    const small = joinForNow([Buffer.alloc(10), Buffer.alloc(20)]);
    expect(joinForNow([Buffer.alloc(5), Buffer.alloc(6)]).buffer).toBe(small.buffer);
    const large = joinForNow([Buffer.alloc(3 * 2 ** 20), Buffer.alloc(3 * 2 ** 20)]);
    expect(large).toHaveLength(6 * 2 ** 20);
    expect(joinForNow([Buffer.alloc(5), Buffer.alloc(6)]).buffer).toBe(small.buffer);
  });

  it('are not copied when there is only one', () => {
    const alone = Buffer.from('alone');
    expect(joinForNow([alone])).toBe(alone);
  });
});
