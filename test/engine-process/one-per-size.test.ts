import { describe, expect, it } from 'vitest';
import { onePerSize } from '../../src/engine-process/one-per-size.js';

describe('one session per batch size', () => {
  it('never runs another size on a session, and makes none before it is needed', async () => {
    let made = 0;
    const sessionFor = onePerSize('first', () => Promise.resolve(`session ${String(++made)}`));
    expect(await sessionFor(8)).toBe('first');
    expect(await sessionFor(8)).toBe('first');
    expect(made).toBe(0);
    expect(await sessionFor(1)).toBe('session 1');
    expect(await sessionFor(64)).toBe('session 2');
    expect([await sessionFor(1), await sessionFor(8)]).toEqual(['session 1', 'first']);
    expect(made).toBe(2);
  });
});
