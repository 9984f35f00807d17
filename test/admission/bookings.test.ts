import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Bookings } from '../../src/admission/bookings.js';

describe('Bookings', () => {
  it('spreads those who are refused together over the time it takes to serve them', () => {
    const bookings = new Bookings();
    // 100 a second leave; 400 are refused at the same moment.
    const seconds = Array.from({ length: 400 }, (_, at) => bookings.book(String(at), 0, 0.1));
    // 9 in each tenth of a second, and all come at the same tenth.
    expect(seconds.filter((second) => second === 1)).toHaveLength(9);
    expect(Math.max(...seconds)).toBe(45);
  });

  it('fills every tenth of a second under steady overload, and no more', () => {
    const bookings = new Bookings();
    const returns = new Map<number, number>();
    for (let at = 0; at < 4000; at++) {
      // 400 a second are refused, one each 2.5 ms, while 100 a second leave.
      const now = at * 2.5;
      const back = now + 1000 * bookings.book(String(at), now, 0.1);
      const tenth = Math.floor(back / 100);
      returns.set(tenth, (returns.get(tenth) ?? 0) + 1);
    }
    for (const [tenth, count] of returns) {
      if (tenth < 600) expect(count).toBeLessThanOrEqual(9);
    }
    const middle = [...returns].filter(([tenth]) => tenth >= 100 && tenth < 300);
    expect(middle.reduce((sum, [, count]) => sum + count, 0)).toBeGreaterThan(200 * 8);
  });

  it('is good around its time, and once', () => {
    const bookings = new Bookings();
    expect(bookings.book('a', 0, 0.1)).toBe(1);
    expect(bookings.redeem('a', 500)).toBe(false);
    expect(bookings.redeem('a', 900)).toBe(true);
    expect(bookings.redeem('a', 950)).toBe(false);
    bookings.book('b', 0, 0.1);
    expect(bookings.redeem('b', 4000)).toBe(false);
  });

  it('keeps one place for one request, however often it is refused', () => {
    const bookings = new Bookings();
    for (let turn = 0; turn < 100; turn++) expect(bookings.book('again', 0, 0.1)).toBe(1);
  });

  it('leaves slow models time, and always gives an answer from 1 to 60', () => {
    const bookings = new Bookings();
    const slow = Array.from({ length: 10 }, (_, at) => bookings.book(String(at), 0, 0.0005));
    // One leaves in two seconds.
    expect(slow.slice(0, 4)).toEqual([1, 4, 7, 10]);
    fc.assert(
      fc.property(fc.double({ min: 0, max: 10, noNaN: true }), fc.nat(1e6), (rate, now) => {
        const seconds = new Bookings().book('x', now, rate);
        expect(seconds).toBeGreaterThanOrEqual(1);
        expect(seconds).toBeLessThanOrEqual(60);
      }),
    );
    expect(new Bookings().book('x', 0, Infinity)).toBe(1);
  });
});
