import { describe, expect, it } from 'vitest';
import { GapHistogram } from '../../src/engine-process/gaps.js';
import { Traffic } from '../../src/engine-process/traffic.js';

const CURVE = [
  { batch: 1, ms: 10 },
  { batch: 2, ms: 20 },
];

/** The chance that somebody comes within about so long. */
function chanceWithin(
  prospects: readonly { readonly withinMs: number; readonly chance: number }[],
  ms: number,
): number {
  return prospects.filter(({ withinMs }) => withinMs <= ms).at(-1)?.chance ?? 0;
}

function visitedAt(times: readonly number[]): Traffic {
  const traffic = new Traffic();
  for (const time of times) traffic.arrived(time, 0);
  return traffic;
}

describe('Traffic', () => {
  it('knows of no arrivals before the second one, and takes two for no flood', () => {
    const traffic = new Traffic();
    expect(traffic.arrivalsPerMs(0)).toBe(0);
    traffic.arrived(5, 0);
    expect(traffic.arrivalsPerMs(5)).toBe(0);
    traffic.arrived(5, 1);
    expect(traffic.arrivalsPerMs(5)).toBeLessThan(0.01);
  });

  it('follows the rate', () => {
    const traffic = visitedAt(Array.from({ length: 100 }, (_, index) => index * 4));
    expect(traffic.arrivalsPerMs(396)).toBeCloseTo(0.25);
    for (let now = 400; now < 600; now += 2) traffic.arrived(now, 0);
    expect(traffic.arrivalsPerMs(598)).toBeCloseTo(0.5, 2);
  });

  it('lets the rate fall while nobody comes', () => {
    const traffic = visitedAt(Array.from({ length: 100 }, (_, index) => index * 10));
    expect(traffic.arrivalsPerMs(995)).toBeCloseTo(0.1);
    expect(traffic.arrivalsPerMs(1090)).toBeCloseTo(0.01);
  });

  it('averages what an arriving item finds', () => {
    const traffic = new Traffic();
    expect(traffic.company).toBe(0);
    for (let now = 0; now < 100; now++) traffic.arrived(now, 3);
    expect(traffic.company).toBeCloseTo(3, 2);
  });

  it('compares batches with the profile, and one accident changes little', () => {
    const traffic = new Traffic();
    expect(traffic.drift).toBe(1);
    for (let count = 0; count < 100; count++) traffic.ran(CURVE, 2, 30, 3);
    expect(traffic.drift).toBeCloseTo(1.5, 2);
    expect(traffic.perItemMs).toBeCloseTo(3);
    traffic.ran(CURVE, 2, 1e9, 3);
    expect(traffic.drift).toBeLessThan(4);
  });

  it('learns nothing about the drift without a profile', () => {
    const traffic = new Traffic();
    traffic.ran([], 2, 30, 3);
    expect(traffic.drift).toBe(1);
    expect(traffic.perItemMs).toBe(3);
  });
});

describe('the forecast', () => {
  it('is empty before anybody came', () => {
    expect(new Traffic().forecast(0, 10)).toEqual([]);
    expect(visitedAt([0]).forecast(5, 10)).toEqual([]);
  });

  it('expects the next frame of a camera on time', () => {
    const traffic = visitedAt(Array.from({ length: 200 }, (_, index) => index * 8));
    const last = 199 * 8;
    expect(chanceWithin(traffic.forecast(last, 20), 5)).toBeLessThan(0.05);
    expect(chanceWithin(traffic.forecast(last, 20), 10)).toBeGreaterThan(0.9);
    expect(chanceWithin(traffic.forecast(last + 6.8, 20), 2.5)).toBeGreaterThan(0.9);
  });

  it('expects a burst to go on, but nobody after it', () => {
    const times = Array.from({ length: 320 }, (_, index) => {
      return Math.floor(index / 16) * 100 + (index % 16) * 0.2;
    });
    const traffic = visitedAt(times);
    const last = times.at(-1) as number;
    expect(chanceWithin(traffic.forecast(last, 10), 1)).toBeGreaterThan(0.8);
    expect(chanceWithin(traffic.forecast(last + 2, 10), 10)).toBeLessThan(0.05);
  });

  it('expects clients back that come soon after each answer', () => {
    const traffic = new Traffic();
    let now = 0;
    // Between an answer and the next question always 1 ms; the answers take any time.
    for (let count = 0; count < 200; count++) {
      now += 5 + ((count * 7) % 31);
      traffic.answered(now);
      now += 1;
      traffic.arrived(now, 0);
    }
    expect(chanceWithin(traffic.forecast(now + 10, 20), 2)).toBeLessThan(0.5);
    traffic.answered(now + 10);
    const prospects = traffic.forecast(now + 10, 20);
    expect(Math.max(...prospects.filter(({ withinMs }) => withinMs < 2).map((p) => p.chance))) //
      .toBeGreaterThan(0.9);
  });

  it('offers no wait that is longer than asked for', () => {
    const traffic = visitedAt(Array.from({ length: 50 }, (_, index) => index * 8));
    for (const { withinMs } of traffic.forecast(395, 5)) expect(withinMs).toBeLessThanOrEqual(5);
  });
});

describe('GapHistogram', () => {
  it('gives chances that grow with the wait and waits that last no longer than allowed', () => {
    const gaps = new GapHistogram();
    for (let count = 1; count < 300; count++) gaps.add((count * 37) % 101);
    for (const silence of [0, 0.3, 5, 40, 99, 500]) {
      let before = 0;
      for (const { withinMs, chance, comesMs, lastsMs } of gaps.after(silence, 1000)) {
        expect(chance).toBeGreaterThanOrEqual(before);
        expect(chance).toBeLessThan(1);
        expect(comesMs).toBeLessThanOrEqual(withinMs);
        expect(lastsMs).toBeLessThanOrEqual(withinMs);
        before = chance;
      }
    }
  });

  it('forgets', () => {
    const gaps = new GapHistogram();
    for (let count = 0; count < 500; count++) gaps.add(1);
    for (let count = 0; count < 500; count++) gaps.add(50);
    expect(chanceWithin(gaps.after(0, 100), 2)).toBeLessThan(0.02);
  });

  it('takes any gap', () => {
    const gaps = new GapHistogram();
    gaps.add(0);
    gaps.add(1e9);
    expect(chanceWithin(gaps.after(0, 2000), 2000)).toBeCloseTo(0.25, 1);
  });
});
