import { expect } from 'vitest';
import type { StoreKind } from './fleet.js';
import { runChaos } from './run.js';

/** For tests that kill servers again and again, on machines that have other things to do. */
export const CHAOS_TIMEOUT = 240_000;

/** A few kills of what `npm run chaos` does for longer. */
export async function expectNothingLost(store: StoreKind, cycles: number): Promise<void> {
  const seed = Math.floor(Math.random() * 1_000_000);
  const report = await runChaos({
    store,
    cycles,
    jobs: 250,
    seed,
    drainMs: 120_000,
    tell: () => undefined,
  });
  expect(report.violations, `seed ${String(seed)}`).toEqual([]);
  expect(report.counts['acknowledged']).toBeGreaterThan(100);
  expect(report.counts['kills']).toBeGreaterThanOrEqual(cycles);
}
