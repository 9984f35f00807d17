import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_ATTEMPTS, nextDelayMs, parseRetryAfter } from '../../../src/jobs/webhooks/schedule.js';

const HOUR_MS = 3_600_000;
const random = fc.double({ min: 0, max: 1, noNaN: true });
const attempt = fc.integer({ min: 1, max: MAX_ATTEMPTS - 1 });

describe('the delay before the next attempt', () => {
  it('is about five seconds first, doubles, and is at most an hour', () => {
    const delays = [1, 2, 3, 10, 11, 22].map((one) => nextDelayMs(one, 0));
    expect(delays).toEqual([5000, 10_000, 20_000, 2_560_000, HOUR_MS, HOUR_MS]);
    fc.assert(
      fc.property(attempt, random, (one, by) => {
        const delay = nextDelayMs(one, by) ?? 0;
        const longest = nextDelayMs(one, 0) ?? 0;
        expect(delay).toBeLessThanOrEqual(longest);
        expect(delay).toBeGreaterThanOrEqual(longest * 0.8 - 1);
      }),
    );
  });

  it('ends after 23 attempts, which takes eleven to thirteen hours', () => {
    expect(MAX_ATTEMPTS).toBe(23);
    fc.assert(
      fc.property(fc.array(random, { minLength: 23, maxLength: 23 }), (chances) => {
        let sum = 0;
        for (let one = 1; one < MAX_ATTEMPTS; one++) {
          sum += nextDelayMs(one, chances[one] as number) ?? Number.NaN;
        }
        expect(sum).toBeGreaterThan(10.5 * HOUR_MS);
        expect(sum).toBeLessThan(13.5 * HOUR_MS);
        expect(nextDelayMs(MAX_ATTEMPTS, chances[0] as number, HOUR_MS)).toBeUndefined();
      }),
    );
  });

  it('is never shorter than what the receiver asked for, up to an hour', () => {
    fc.assert(
      fc.property(attempt, random, fc.nat(2 * HOUR_MS), (one, by, asked) => {
        const plain = nextDelayMs(one, by) ?? 0;
        expect(nextDelayMs(one, by, asked)).toBe(Math.max(plain, Math.min(asked, HOUR_MS)));
      }),
    );
  });
});

describe('Retry-After', () => {
  const now = Date.parse('2026-11-15T12:00:00Z');

  it.each([
    ['0', 0],
    ['120', 120_000],
    [' 7 ', 7000],
    ['3600', HOUR_MS],
    ['99999999999999999999', HOUR_MS],
    ['Sun, 15 Nov 2026 12:00:30 GMT', 30_000],
    ['Sun, 15 Nov 2026 11:00:00 GMT', 0],
    ['Sun, 15 Nov 2099 12:00:00 GMT', HOUR_MS],
  ])('%j is understood', (text, expected) => {
    expect(parseRetryAfter(text, now)).toBe(expected);
  });

  it.each([undefined, '', 'soon', '-5', '1.5', '1e3', 'Foo, 99 Bar 2026 12:00:00 GMT'])(
    '%j is ignored',
    (text) => {
      expect(parseRetryAfter(text, now)).toBeUndefined();
    },
  );

  it('never gives anything but a time within the hour', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(), (text, at) => {
        const ms = parseRetryAfter(text, at);
        expect(ms === undefined || (ms >= 0 && ms <= HOUR_MS)).toBe(true);
      }),
    );
  });
});
