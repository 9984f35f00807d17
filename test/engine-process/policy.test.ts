import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BatchRules, type BatchView, decideBatch } from '../../src/engine-process/policy.js';

const view: fc.Arbitrary<BatchView> = fc.record({
  ready: fc.nat(100),
  oldestReadyMs: fc.double({ min: 0, max: 50, noNaN: true }),
  idleSessions: fc.nat(8),
});
const rules: fc.Arbitrary<BatchRules> = fc.record({
  mode: fc.constantFrom('adaptive', 'fixed', 'off'),
  maxBatch: fc.integer({ min: 1, max: 32 }),
  windowMs: fc.double({ min: 0, max: 30, noNaN: true }),
});

describe('decideBatch', () => {
  it('never runs an empty, a too large or an invented batch', () => {
    fc.assert(
      fc.property(view, rules, (seen, by) => {
        const decision = decideBatch(seen, by);
        if (decision.kind !== 'run') return;
        expect(decision.size).toBeGreaterThanOrEqual(1);
        expect(decision.size).toBeLessThanOrEqual(Math.min(seen.ready, by.maxBatch));
      }),
    );
  });

  it('does nothing only when there is nothing to do or nobody to do it', () => {
    fc.assert(
      fc.property(view, rules, (seen, by) => {
        const isIdle = seen.ready === 0 || seen.idleSessions === 0;
        expect(decideBatch(seen, by).kind === 'nothing').toBe(isIdle);
      }),
    );
  });

  it('is work-conserving unless the window is fixed', () => {
    fc.assert(
      fc.property(view, rules, (seen, by) => {
        fc.pre(seen.ready > 0 && seen.idleSessions > 0 && by.mode !== 'fixed');
        expect(decideBatch(seen, by).kind).toBe('run');
      }),
    );
  });

  it('never holds an item back beyond the window, nor a full batch at all', () => {
    fc.assert(
      fc.property(view, rules, (seen, by) => {
        const decision = decideBatch(seen, by);
        if (decision.kind !== 'wait') return;
        expect(seen.ready).toBeLessThan(by.maxBatch);
        expect(seen.oldestReadyMs + decision.forMs).toBeLessThanOrEqual(by.windowMs + 1e-9);
      }),
    );
  });

  it('shares ready items between idle sessions', () => {
    const by: BatchRules = { mode: 'adaptive', maxBatch: 8, windowMs: 10 };
    const size = (ready: number, idleSessions: number): unknown =>
      decideBatch({ ready, oldestReadyMs: 0, idleSessions }, by);
    expect(size(2, 2)).toEqual({ kind: 'run', size: 1 });
    expect(size(5, 2)).toEqual({ kind: 'run', size: 3 });
    expect(size(5, 1)).toEqual({ kind: 'run', size: 5 });
    expect(size(50, 2)).toEqual({ kind: 'run', size: 8 });
  });

  it('collects for ten milliseconds when told to', () => {
    const by: BatchRules = { mode: 'fixed', maxBatch: 4, windowMs: 10 };
    const at = (ready: number, oldestReadyMs: number): unknown =>
      decideBatch({ ready, oldestReadyMs, idleSessions: 1 }, by);
    expect(at(1, 0)).toEqual({ kind: 'wait', forMs: 10 });
    expect(at(3, 4)).toEqual({ kind: 'wait', forMs: 6 });
    expect(at(3, 10)).toEqual({ kind: 'run', size: 3 });
    expect(at(4, 0)).toEqual({ kind: 'run', size: 4 });
  });
});
