import { describe, expect, it } from 'vitest';
import { createRandom } from '../../src/load/random.js';
import { arrivalTimes } from '../../src/load/schedule.js';

const poisson = { arrivals: 'poisson', rate: 100, seconds: 100, seed: 7 } as const;

describe('the random numbers', () => {
  it('are the same for the same seed and spread evenly over [0, 1)', () => {
    const [one, two] = [createRandom(3), createRandom(3)];
    const values = Array.from({ length: 10_000 }, one);
    expect(values).toEqual(Array.from({ length: 10_000 }, two));
    expect(createRandom(4)()).not.toBe(values[0]);
    for (let tenth = 0; tenth < 10; tenth++) {
      const inTenth = values.filter((value) => Math.floor(value * 10) === tenth).length;
      expect(inTenth).toBeGreaterThan(900);
      expect(inTenth).toBeLessThan(1100);
    }
  });
});

describe('the schedule', () => {
  it('is the same for the same seed', () => {
    expect(arrivalTimes(poisson)).toEqual(arrivalTimes(poisson));
    expect(arrivalTimes({ ...poisson, seed: 8 })).not.toEqual(arrivalTimes(poisson));
  });

  it('has the rate that was asked for, in order and in time', () => {
    const times = arrivalTimes(poisson);
    expect(times.length).toBeGreaterThan(9700);
    expect(times.length).toBeLessThan(10_300);
    expect(times).toEqual(times.toSorted());
    expect(times[0]).toBeGreaterThanOrEqual(0);
    expect(times.at(-1)).toBeLessThan(100_000);
  });

  it('has gaps as clients have that do not know of each other', () => {
    const times = arrivalTimes(poisson);
    const gaps = [...times].map((time, at) => time - (at === 0 ? 0 : (times[at - 1] as number)));
    const mean = gaps.reduce((sum, gap) => sum + gap) / gaps.length;
    const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length;
    // An exponential distribution: the deviation is the mean, and 1 - 1/e of the gaps are below it.
    expect(Math.sqrt(variance) / mean).toBeCloseTo(1, 1);
    expect(gaps.filter((gap) => gap < mean).length / gaps.length).toBeCloseTo(1 - 1 / Math.E, 1);
  });

  it('can be steady', () => {
    const times = arrivalTimes({ arrivals: 'steady', rate: 50, seconds: 2, seed: 1 });
    expect(times).toHaveLength(100);
    expect([...times.subarray(0, 4)]).toEqual([0, 20, 40, 60]);
  });

  it.each([
    [1, 0.5, 1],
    [3, 1, 3],
    [0.5, 10, 5],
    [33.3, 10, 333],
  ])('sends %d/s for %d s as %d requests', (rate, seconds, count) => {
    expect(arrivalTimes({ arrivals: 'steady', rate, seconds, seed: 1 })).toHaveLength(count);
  });
});
