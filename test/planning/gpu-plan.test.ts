import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import type { ModelSettings } from '../../src/config/schema.js';
import { bucketsUpTo, nextBucket } from '../../src/planning/buckets.js';
import { gpuSplits, planForGpu } from '../../src/planning/gpu-plan.js';
import type { Profile, ProfilePoint } from '../../src/planning/profile.js';
import { servingPlan } from '../../src/planning/serving-plan.js';
import { planFor } from '../../src/planning/plan.js';

const settings: ModelSettings = loadConfig({ environment: {}, flags: {} });
const machine = (cores: number) => ({ cores, memoryBytes: 64 * 2 ** 30, name: 'a machine' });
const cuda = { device: 'cuda', engines: 1 } as const;
const webgpu = { device: 'webgpu', engines: 1 } as const;

const SIZES = bucketsUpTo(128, 'webgpu');
type Rates = Readonly<Partial<Record<number, number>>>;
/** From images per second by batch size, as they were measured. */
function points(rates: Rates): ProfilePoint[] {
  return Object.entries(rates).map(([batch, rate]) => ({
    batch: Number(batch),
    ms: (Number(batch) * 1000) / (rate as number),
    runs: 10,
    rssBytes: 2 ** 28,
  }));
}
function profile(bySessions: Readonly<Record<number, Rates>>, decodeMs = 0): Profile {
  return {
    provider: 'cuda',
    measuredAt: '2026-01-01T00:00:00Z',
    depth: 'full',
    decodeMs,
    splits: Object.entries(bySessions).map(([sessions, rates]) => ({
      sessions: Number(sessions),
      threads: 1,
      points: points(rates),
    })),
  };
}
const ONE = { 1: 448, 4: 1715, 8: 2850, 16: 3761, 32: 4330, 128: 4766 };
/** Of each of two that run side by side. */
const TWO = { 1: 400, 8: 1900, 32: 2760 };
const WEBGPU = { 1: 186, 8: 1125, 16: 1596, 32: 1533, 64: 977 };

describe('planForGpu', () => {
  it('takes the sessions and the batch that reach most', () => {
    const plan = planForGpu(settings, machine(64), cuda, profile({ 1: ONE, 2: TWO }));
    expect(plan).toMatchObject({ sessions: 2, threads: 1, maxBatch: 32, wideThreads: 0 });
    expect(plan.imagesPerSecond).toBeCloseTo(5520);
    expect(plan.why).toMatch(/^measured: cuda with 2 sessions reaches 5520 images\/s at batch 32/);
    expect(planForGpu(settings, machine(64), webgpu, profile({ 1: WEBGPU })).maxBatch).toBe(16);
  });

  it('holds a running batch, the next one and what is being decoded', () => {
    const plan = planForGpu(settings, machine(16), cuda, profile({ 1: ONE, 2: TWO }));
    expect(plan).toMatchObject({ decodeLanes: 18, maxConcurrent: 2 * 4 * 32 + 3 * 18 });
    expect(planForGpu(settings, machine(1), cuda).decodeLanes).toBe(2);
    const two = planForGpu(settings, machine(16), { device: 'cuda', engines: 2 });
    expect(two.decodeLanes).toBe(9);
  });

  it('does not make batches longer than the cores can fill', () => {
    // Four cores at 3.2 ms and what comes with it give 1,000 images a second, and a GPU that is
    // half as fast again is enough.
    const plan = planForGpu(settings, machine(4), cuda, profile({ 1: ONE, 2: TWO }, 3.2));
    expect(plan.maxBatch).toBe(4);
    expect(plan.imagesPerSecond).toBeCloseTo(1250);
    expect(plan.why).toContain('the cores can feed it 1000 images/s');
    expect(plan.warnings).toEqual([]);
  });

  it('has no more sessions than it needs for what the cores can feed', () => {
    // 16 cores at 3.8 ms and what comes with it: 3,478 images a second.
    const measured = profile({ 1: { ...ONE, 64: 4950 }, 2: TWO }, 3.8);
    const plan = planForGpu(settings, machine(16), cuda, measured);
    expect(plan).toMatchObject({ sessions: 1, maxBatch: 64 });
    expect(planForGpu(settings, machine(24), cuda, measured)).toMatchObject({ sessions: 2 });
    expect(planForGpu(settings, machine(12), cuda, measured)).toMatchObject({ maxBatch: 16 });
  });

  it('keeps to a target, or says that it cannot', () => {
    const target = (slo_p99_ms: number) =>
      planForGpu({ ...settings, slo_p99_ms }, machine(64), cuda, profile({ 1: ONE }));
    expect(target(10).maxBatch).toBe(16);
    expect(target(1)).toMatchObject({ maxBatch: 1 });
    expect(target(1).warnings[0]).toMatch(/^slo_p99_ms 1 cannot be kept/);
  });

  it('has a plan without a profile', () => {
    expect(planForGpu(settings, machine(8), webgpu)).toMatchObject({
      sessions: 1,
      threads: 1,
      maxBatch: 8,
      decodeLanes: 9,
      curve: [],
    });
  });

  it('lets values set by hand win where that is possible, and says what they cost', () => {
    const hand = { ...settings, sessions: 1, max_batch: 4 } as const;
    const plan = planForGpu(hand, machine(64), cuda, profile({ 1: ONE, 2: TWO }));
    expect(plan).toMatchObject({ sessions: 1, maxBatch: 4 });
    expect(plan.warnings[0]).toMatch(
      /^sessions, max_batch set by hand: about 1715 images\/s, but 2 sessions at batch 32/,
    );
    const three = planForGpu({ ...settings, sessions: 3 }, machine(64), webgpu);
    expect(three.sessions).toBe(1);
    expect(three.warnings).toEqual([
      'sessions 3 is not possible on webgpu, where one process has one',
    ]);
  });

  const rates = fc
    .tuple(fc.array(fc.integer({ min: 1, max: 9000 }), { minLength: 1, maxLength: SIZES.length }))
    .map(([list]): Rates =>
      Object.fromEntries(list.map((rate, at) => [SIZES[at] as number, rate])),
    );
  const some = fc.option(fc.integer({ min: 1, max: 64 }), { nil: 'auto' as const });

  it('always gives something that can run, and no other plan reaches clearly more', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 64 }),
        fc.double({ min: 0, max: 20, noNaN: true }),
        rates,
        rates,
        (cores, decodeMs, one, two) => {
          const measured = profile({ 1: one, 2: two }, decodeMs);
          const plan = planForGpu(settings, machine(cores), cuda, measured);
          const decode = (cores * 1000) / (decodeMs + 0.8);
          const reached = measured.splits.flatMap(({ sessions, points: all }) =>
            all.map(({ batch, ms }) => Math.min((sessions * batch * 1000) / ms, decode)),
          );
          expect(plan.imagesPerSecond).toBeGreaterThanOrEqual(Math.max(...reached) * 0.979);
          expect(plan.decodeLanes).toBeGreaterThan(cores);
          expect(plan.why).not.toMatch(/NaN|Infinity/);
          expect(plan.warnings).toEqual([]);
        },
      ),
    );
  });

  it('keeps what was set by hand, whatever was measured', () => {
    fc.assert(
      fc.property(some, some, some, rates, (sessions, max_batch, max_concurrent, one) => {
        const hand = { ...settings, sessions, max_batch, max_concurrent };
        const plan = planForGpu(hand, machine(8), cuda, profile({ 1: one }));
        for (const value of [plan.sessions, plan.threads, plan.maxBatch, plan.maxConcurrent]) {
          expect(value).toBeGreaterThanOrEqual(1);
        }
        if (sessions !== 'auto') expect(plan.sessions).toBe(sessions);
        if (max_batch !== 'auto') expect(plan.maxBatch).toBe(max_batch);
        if (max_concurrent !== 'auto') expect(plan.maxConcurrent).toBe(max_concurrent);
        expect(plan.wideThreads).toBe(0);
      }),
    );
  });
});

describe('servingPlan', () => {
  it('plans for the CPU as if there were no GPUs', () => {
    const measured = profile({ 1: ONE, 2: TWO }, 3);
    const plan = servingPlan(settings, machine(4), [{ name: 'cpu', index: 0 }], measured);
    expect(plan).toEqual(planFor(settings, machine(4), measured));
  });

  it('shares the cores between GPUs', () => {
    const devices = [0, 1].map((index) => ({ name: 'cuda', index }) as const);
    expect(servingPlan(settings, machine(8), devices).decodeLanes).toBe(5);
  });
});

describe('gpuSplits', () => {
  it('tries several sessions with CUDA only', () => {
    expect(gpuSplits('cuda', settings).map(({ sessions }) => sessions)).toEqual([1, 2]);
    expect(gpuSplits('webgpu', { ...settings, sessions: 2 })).toEqual([
      { sessions: 1, threads: 1 },
    ]);
    expect(gpuSplits('cuda', { ...settings, sessions: 4 })).toEqual([{ sessions: 4, threads: 1 }]);
  });
});

describe('nextBucket', () => {
  const follow = (rateOf: (batch: number) => number, wanted?: number): number[] => {
    const rates: Record<number, number> = {};
    for (;;) {
      const next = nextBucket(points(rates), machine(8), wanted, 'webgpu');
      if (next === undefined) return Object.keys(rates).map(Number);
      rates[next] = rateOf(next);
    }
  };

  it('goes by the buckets as long as larger ones bring more', () => {
    expect(follow((batch) => batch * 10)).toEqual(SIZES);
    expect(follow((batch) => batch * 10, 40)).toEqual([1, 2, 4, 8, 12, 16, 24, 32, 40]);
  });

  it('stops when throughput falls, or no longer grows', () => {
    expect(follow((batch) => (batch <= 16 ? batch * 100 : 1000))).toEqual(
      bucketsUpTo(24, 'webgpu'),
    );
    expect(follow((batch) => Math.min(batch, 16) * 100)).toEqual(bucketsUpTo(32, 'webgpu'));
  });

  it('stops before memory is short', () => {
    const [full] = points({ 1: 10 }).map((point) => ({ ...point, rssBytes: 60 * 2 ** 30 }));
    expect(nextBucket([full as ProfilePoint], machine(8), undefined, 'webgpu')).toBeUndefined();
  });
});
