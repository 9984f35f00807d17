import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Refusal, Silence } from '../../../src/cli/jobs/failures.js';
import { nextDelay, parseRetryAfter, troubleOf } from '../../../src/cli/jobs/retry.js';

const at = { failures: 1, awayMs: 0, patienceMs: 60_000, retryAfterMs: undefined, random: 0 };

describe('the retry decision', () => {
  it.each([
    [429, 'busy'],
    [507, 'busy'],
    [408, 'away'],
    [502, 'away'],
    [503, 'away'],
    [504, 'away'],
    [400, 'final'],
    [401, 'final'],
    [413, 'final'],
    [422, 'final'],
    [500, 'final'],
    [302, 'final'],
  ])('status %i means %s', (status, trouble) => {
    expect(troubleOf(new Refusal(status, ''))).toBe(trouble);
  });

  it('takes no answer for a server that may come back, and anything else for a bug', () => {
    expect(troubleOf(new Silence(new URL('http://a'), new Error('gone')))).toBe('away');
    expect(troubleOf(new TypeError('x is not a function'))).toBe('final');
  });

  it('backs off, further from a busy server than from one that is away', () => {
    const delays = (trouble: 'busy' | 'away') =>
      [1, 2, 3, 4, 5, 6, 7, 8].map((failures) => nextDelay({ ...at, trouble, failures }));
    expect(delays('busy')).toEqual([250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000]);
    expect(delays('away')).toEqual([250, 500, 1000, 2000, 2000, 2000, 2000, 2000]);
  });

  const states = fc.record({
    trouble: fc.constantFrom('busy' as const, 'away' as const),
    failures: fc.integer({ min: 1, max: 5000 }),
    awayMs: fc.integer({ min: 0, max: 1e6 }),
    patienceMs: fc.integer({ min: 0, max: 1e6 }),
    retryAfterMs: fc.option(fc.integer({ min: 0, max: 1e6 }), { nil: undefined }),
    random: fc.double({ min: 0, max: 1, noNaN: true }),
  });

  it('never comes back sooner than it was asked to, nor later than it must', () => {
    fc.assert(
      fc.property(states, (state) => {
        const delay = nextDelay(state) ?? 0;
        const asked = state.retryAfterMs ?? 0;
        if (nextDelay(state) !== undefined) expect(delay).toBeGreaterThanOrEqual(asked);
        expect(delay).toBeLessThanOrEqual(Math.max(asked, 15_000) * 1.25);
      }),
    );
  });

  it('gives up when patience has run out, but never on a server that is only busy', () => {
    fc.assert(
      fc.property(states, (state) => {
        const mayGiveUp = state.trouble === 'away' && state.awayMs >= state.patienceMs;
        expect(nextDelay(state) === undefined).toBe(mayGiveUp);
      }),
    );
    expect(nextDelay({ ...at, trouble: 'final' })).toBeUndefined();
  });

  it('reads Retry-After as seconds or as a date', () => {
    const now = Date.parse('Sun, 15 Nov 2026 12:00:00 GMT');
    expect(parseRetryAfter('3', now)).toBe(3000);
    expect(parseRetryAfter('Sun, 15 Nov 2026 12:00:09 GMT', now)).toBe(9000);
    expect(parseRetryAfter('Sun, 15 Nov 2026 11:00:00 GMT', now)).toBe(0);
    expect(parseRetryAfter('soon', now)).toBeUndefined();
    expect(parseRetryAfter(null, now)).toBeUndefined();
  });
});
