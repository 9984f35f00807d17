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

  /** 400 a second are refused, one each 2.5 ms, while 100 a second leave. */
  function overload(bookings: Bookings, seconds: number, comesBack: (at: number) => boolean) {
    const due: { id: string; at: number }[] = [];
    const returns = new Map<number, number>();
    let last = 0;
    for (let at = 0; at < seconds * 400; at++) {
      const now = at * 2.5;
      for (const one of due.filter((each) => each.at <= now)) {
        due.splice(due.indexOf(one), 1);
        if (bookings.redeem(one.id, now)) {
          const tenth = Math.floor(now / 100);
          returns.set(tenth, (returns.get(tenth) ?? 0) + 1);
        }
      }
      last = bookings.book(String(at), now, 0.1);
      if (comesBack(at)) due.push({ id: String(at), at: now + last * 1000 });
    }
    return { returns, last };
  }

  it('fills every tenth of a second when all come back, and no more', () => {
    const { returns } = overload(new Bookings(), 20, () => true);
    const middle = [...returns].filter(([tenth]) => tenth >= 30 && tenth < 190);
    for (const [, count] of middle) expect(count).toBeLessThanOrEqual(12);
    const mean = middle.reduce((sum, [, count]) => sum + count, 0) / middle.length;
    expect(mean).toBeGreaterThan(7);
    expect(mean).toBeLessThanOrEqual(9.5);
  });

  it('is not filled up by those who do not come back', () => {
    const bookings = new Bookings();
    const { returns, last } = overload(bookings, 20, (at) => at % 20 === 0);
    // One in twenty does, so there is room for all of them soon.
    expect(last).toBeLessThanOrEqual(10);
    for (const [tenth, count] of returns) if (tenth > 50) expect(count).toBeLessThanOrEqual(12);
  });

  it('forgets a slow moment when it is over', () => {
    const bookings = new Bookings();
    for (let at = 0; at < 100; at++) bookings.book(`slow ${String(at)}`, at, 0.0005);
    expect(bookings.book('quick', 200, 0.2)).toBeLessThanOrEqual(2);
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
