import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import type { ModelSettings } from '../../src/config/schema.js';
import { type Machine, thisMachine } from '../../src/planning/machine.js';
import { planFor } from '../../src/planning/plan.js';
import type { Profile } from '../../src/planning/profile.js';

const settings: ModelSettings = loadConfig({ environment: {}, flags: {} });
const machine = (cores: number, memoryBytes = 16 * 2 ** 30): Machine => ({
  cores,
  memoryBytes,
  name: 'a machine',
});

/** Times by batch size, in powers of two. */
function profile(
  splits: readonly [sessions: number, threads: number, ...ms: number[]][],
  decodeMs = 0,
): Profile {
  return {
    decodeMs,
    provider: 'cpu',
    measuredAt: '2026-01-01T00:00:00Z',
    depth: 'full',
    splits: splits.map(([sessions, threads, ...times]) => ({
      sessions,
      threads,
      points: times.map((ms, at) => ({
        batch: 2 ** at,
        ms,
        runs: 10,
        rssBytes: (150 + 40 * sessions + 20 * 2 ** at) * 2 ** 20,
      })),
    })),
  };
}
const LAPTOP = profile(
  [
    [2, 1, 18, 36.5, 71],
    [1, 2, 9.5, 18.5, 37],
  ],
  3.4,
);
const GPU = profile([[1, 1, 2.23, 2.28, 2.33, 2.81, 4.4, 7.39, 14, 26.9]]);

describe('planFor, without a profile', () => {
  it.each([
    [1, 1, 1],
    [2, 2, 1],
    [8, 8, 1],
    [16, 8, 2],
    [64, 8, 8],
  ])('with %i cores: %i sessions of %i threads', (cores, sessions, threads) => {
    expect(planFor(settings, machine(cores))).toMatchObject({ sessions, threads, curve: [] });
  });

  it('fills in around what is set by hand, and says so', () => {
    const plan = (part: Partial<ModelSettings>) => planFor({ ...settings, ...part }, machine(4));
    expect(plan({ sessions: 1 })).toMatchObject({ sessions: 1, threads: 4 });
    expect(plan({ threads: 2 })).toMatchObject({ sessions: 2, threads: 2 });
    expect(plan({ threads: 2 }).why).toContain('threads set by hand');
  });
});

describe('planFor, with a profile', () => {
  it('takes the split with the highest throughput, and a wide session for lone images', () => {
    const plan = planFor(settings, machine(2), LAPTOP);
    // Batches gain nothing, but two at a time need half as many messages.
    expect(plan).toMatchObject({ sessions: 2, threads: 1, maxBatch: 2, wideThreads: 2 });
    expect(plan.wideCurve[0]).toEqual({ batch: 1, ms: 9.5 });
    expect(plan.why).toMatch(/2 × 1 thread reaches 92 images\/s at batch 2/);
    expect(plan.why).toMatch(/9\.5 ms on all cores instead of 18 ms/);
  });

  it('takes the largest batch that pays, not the largest there is', () => {
    const plan = planFor(settings, machine(16), GPU);
    expect(plan.maxBatch).toBe(64);
    expect(plan.maxConcurrent).toBe(65);
  });

  it('keeps to a target', () => {
    const plan = planFor({ ...settings, slo_p99_ms: 10 }, machine(16), GPU);
    expect(plan.maxBatch).toBe(16);
    expect(plan.why).toContain('target p99 10 ms');
    // What nothing can meet is met as nearly as possible.
    expect(planFor({ ...settings, slo_p99_ms: 1 }, machine(16), GPU).maxBatch).toBe(1);
  });

  it('does without a wide session where it does not pay, does not fit or is not wanted', () => {
    const slowWide = profile([
      [2, 1, 18],
      [1, 2, 16],
    ]);
    expect(planFor(settings, machine(2), slowWide).wideThreads).toBe(0);
    expect(planFor(settings, machine(2, 100 * 2 ** 20), LAPTOP).wideThreads).toBe(0);
    for (const off of [{ wide_session: 'off' }, { batching: 'fixed' }] as const) {
      expect(planFor({ ...settings, ...off }, machine(2), LAPTOP).wideThreads).toBe(0);
    }
  });

  it('lets values set by hand win, and warns when they cost more than a tenth', () => {
    const costly = profile([
      [1, 1, 18, 37],
      [2, 1, 18, 36],
    ]);
    const plan = planFor({ ...settings, sessions: 1, threads: 1 }, machine(2), costly);
    expect(plan).toMatchObject({ sessions: 1, threads: 1 });
    expect(plan.warnings).toEqual([
      'sessions, threads set by hand: about 54 images/s, but 2 × 1 thread would reach 111 images/s',
    ]);
    expect(planFor({ ...settings, max_batch: 1 }, machine(2), LAPTOP)).toMatchObject({
      maxBatch: 1,
      warnings: [],
    });
    expect(planFor({ ...settings, max_batch: 1 }, machine(2), GPU).warnings).toHaveLength(1);
  });

  it('always gives something that can run', () => {
    const some = fc.option(fc.integer({ min: 1, max: 64 }), { nil: 'auto' as const });
    const times = fc.array(fc.double({ min: 0.1, max: 1000, noNaN: true }), { minLength: 1 });
    const splits = fc.array(fc.tuple(fc.integer({ min: 1, max: 8 }), fc.nat(7), times));
    fc.assert(
      fc.property(some, some, some, splits, (sessions, threads, max_batch, list) => {
        const measured = profile(
          list.map(([s, t, ms]): [number, number, ...number[]] => [s, t + 1, ...ms.slice(0, 6)]),
        );
        const plan = planFor({ ...settings, sessions, threads, max_batch }, machine(8), measured);
        for (const value of [plan.sessions, plan.threads, plan.maxBatch, plan.maxConcurrent]) {
          expect(value).toBeGreaterThanOrEqual(1);
        }
        if (sessions !== 'auto') expect(plan.sessions).toBe(sessions);
        if (threads !== 'auto') expect(plan.threads).toBe(threads);
        if (max_batch !== 'auto') expect(plan.maxBatch).toBe(max_batch);
        expect(plan.why).not.toMatch(/NaN|Infinity/);
      }),
    );
  });
});

describe('thisMachine', () => {
  it('has something to work with', () => {
    const { cores, memoryBytes, name } = thisMachine();
    expect(cores).toBeGreaterThanOrEqual(1);
    expect(memoryBytes).toBeGreaterThan(2 ** 20);
    expect(name).not.toBe('');
  });
});
