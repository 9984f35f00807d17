import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BatchRules, type BatchView, decideBatch } from '../../src/engine-process/policy.js';

const busy: BatchView = {
  waiting: 0,
  background: 0,
  oldestMs: 0,
  slackMs: 1000,
  idleSessions: 0,
  stageable: 1,
  arrivalsPerMs: 4,
  company: 0,
  drift: 1,
  perItemMs: 0,
};
const gpu: BatchRules = {
  mode: 'adaptive',
  sessions: 1,
  maxBatch: 32,
  windowMs: 10,
  curve: [
    { batch: 1, ms: 2.23 },
    { batch: 32, ms: 7.39 },
  ],
};
const full = { kind: 'run', session: 'narrow', size: 32, extra: 0 };
const nothing = { kind: 'nothing' };

describe('while all sessions are busy', () => {
  const see = (part: Partial<BatchView>, by: Partial<BatchRules> = {}) =>
    decideBatch({ ...busy, ...part }, { ...gpu, ...by });

  it('joins others on a device with half a batch, or a full one where decoding is late', () => {
    const join = (waiting: number, isDecodingLate = false) =>
      see({ waiting, isDecodingLate, joinable: 1, stageable: 0 });
    expect(join(16)).toEqual({ ...full, size: 16 });
    expect(join(40)).toEqual(full);
    expect(join(15)).toEqual(nothing);
    expect(join(31, true)).toEqual(nothing);
    expect(join(32, true)).toEqual(full);
    expect(see({ waiting: 16, joinable: 1, stageable: 1, modest: 3, company: 90 })).toEqual(
      nothing,
    );
  });

  it('stages a full batch, and lets a smaller one grow', () => {
    expect(see({ waiting: 32 })).toEqual(full);
    expect(see({ waiting: 90 })).toEqual(full);
    expect(see({ waiting: 31 })).toEqual(nothing);
    expect(see({ waiting: 31, background: 90 })).toEqual(nothing);
    expect(see({ waiting: 90, stageable: 0 })).toEqual(nothing);
  });

  it('stages one item where batching is off', () => {
    expect(see({ waiting: 2 }, { mode: 'off' })).toMatchObject({ kind: 'run', size: 1 });
  });

  it('stages background items only while nobody else is about', () => {
    const ahead = { kind: 'run', session: 'narrow', size: 0, extra: 32 };
    expect(see({ background: 40, arrivalsPerMs: 0 })).toEqual(ahead);
    expect(see({ background: 40 })).toEqual(nothing);
    expect(see({ background: 20, arrivalsPerMs: 0 })).toEqual(nothing);
  });

  it('does not make a tenant that has nothing else in work ride with a crowd', () => {
    expect(see({ waiting: 60, company: 100, modest: 2 })).toEqual(nothing);
    expect(see({ waiting: 60, company: 100, modest: 40 })).toEqual(full);
    expect(see({ waiting: 60, company: 100 })).toEqual(full);
  });

  it('never stages without room for it, nor a batch that is not full, nor a mixed one', () => {
    const view = fc.record({
      waiting: fc.nat(80),
      background: fc.nat(80),
      stageable: fc.nat(2),
      modest: fc.nat(80),
      company: fc.double({ min: 0, max: 200, noNaN: true }),
      arrivalsPerMs: fc.constantFrom(0, 0.0001, 4),
    });
    const rules = fc.record({
      mode: fc.constantFrom('adaptive' as const, 'fixed' as const, 'off' as const),
      maxBatch: fc.integer({ min: 1, max: 40 }),
      sessions: fc.integer({ min: 1, max: 2 }),
    });
    fc.assert(
      fc.property(view, rules, (part, by) => {
        const decision = see(part, by);
        expect(decision.kind).not.toBe('wait');
        if (decision.kind !== 'run') return;
        const { size, extra } = decision;
        expect(part.stageable).toBeGreaterThan(0);
        expect(size + extra).toBe(by.mode === 'off' ? 1 : by.maxBatch);
        expect(Math.min(size, extra)).toBe(0);
        expect(size).toBeLessThanOrEqual(part.waiting);
        expect(extra).toBeLessThanOrEqual(part.background);
        if (extra > 0) expect(part.waiting).toBe(0);
      }),
      { numRuns: 2000 },
    );
  });
});
