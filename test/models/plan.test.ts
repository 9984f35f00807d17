import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { planFor, usableCores } from '../../src/models/plan.js';

const settings = loadConfig({ environment: {}, flags: {} });

describe('planFor', () => {
  it.each([
    [1, 1, 1],
    [2, 2, 1],
    [8, 8, 1],
    [16, 8, 2],
    [64, 8, 8],
  ])('with %i cores: %i sessions of %i threads', (cores, sessions, threads) => {
    expect(planFor(settings, cores)).toMatchObject({ sessions, threads });
  });

  it('fills in around what is set by hand, and says so', () => {
    expect(planFor({ ...settings, sessions: 1 }, 4)).toMatchObject({ sessions: 1, threads: 4 });
    expect(planFor({ ...settings, threads: 2 }, 4)).toMatchObject({ sessions: 2, threads: 2 });
    expect(planFor({ ...settings, threads: 2 }, 4).why).toContain('threads set by hand');
  });

  it('never asks for more threads than cores by itself, and always for something', () => {
    const some = fc.option(fc.integer({ min: 1, max: 64 }), { nil: 'auto' as const });
    fc.assert(
      fc.property(some, some, fc.integer({ min: 1, max: 256 }), (sessions, threads, cores) => {
        const plan = planFor({ ...settings, sessions, threads }, cores);
        expect(Math.min(plan.sessions, plan.threads, plan.maxConcurrent)).toBeGreaterThanOrEqual(1);
        const isByHand = sessions !== 'auto' || threads !== 'auto';
        if (!isByHand) expect(plan.sessions * plan.threads).toBeLessThanOrEqual(cores);
      }),
    );
  });

  it('sees at least one core here', () => {
    expect(usableCores()).toBeGreaterThanOrEqual(1);
  });
});
