import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { afterCrash, NO_CRASHES, type RestartState } from '../../src/engine/restart-policy.js';

function delays(runs: readonly number[]): number[] {
  let state: RestartState = NO_CRASHES;
  return runs.map((ranForMs) => {
    const next = afterCrash(state, ranForMs);
    state = next.state;
    return next.delayMs;
  });
}

describe('afterCrash', () => {
  it('restarts at once, then backs off to ten seconds', () => {
    expect(delays([0, 0, 0, 0, 0, 0, 0, 0])).toEqual([
      0, 500, 1000, 2000, 4000, 8000, 10_000, 10_000,
    ]);
  });

  it('forgives after a stable run', () => {
    expect(delays([0, 0, 0, 60_000, 0])).toEqual([0, 500, 1000, 0, 500]);
  });

  it('never starts two engines within half a second, except once after a stable run', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20_000)), (runs) => {
        delays(runs).forEach((delay, index) => {
          const isFirst = index === 0 || (runs[index] ?? 0) >= 10_000;
          expect(delay).toBeGreaterThanOrEqual(isFirst ? 0 : 500);
          expect(delay).toBeLessThanOrEqual(10_000);
        });
      }),
    );
  });
});
