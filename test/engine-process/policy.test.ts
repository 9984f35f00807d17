import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type BatchDecision,
  type BatchRules,
  type BatchView,
  decideBatch,
} from '../../src/engine-process/policy.js';
import { type Curve, latencyMs } from '../../src/planning/curve.js';
import { QUIET } from '../helpers/quiet-view.js';

const CPU: Curve = [
  { batch: 1, ms: 18 },
  { batch: 2, ms: 36 },
  { batch: 4, ms: 70 },
];
const CPU_WIDE: Curve = [{ batch: 1, ms: 9.2 }];
const GPU: Curve = [
  { batch: 1, ms: 2.23 },
  { batch: 4, ms: 2.33 },
  { batch: 8, ms: 2.81 },
  { batch: 32, ms: 7.39 },
];

const ms = (max: number) => fc.double({ min: 0, max, noNaN: true });
const curve: fc.Arbitrary<Curve> = fc
  .array(ms(40), { maxLength: 6 })
  .map((steps) => steps.map((step, index) => ({ batch: 2 ** index, ms: 0.5 + index + step })));
const prospect = fc.record({
  withinMs: fc.double({ min: 0.01, max: 60, noNaN: true }),
  chance: fc.double({ min: 0, max: 0.99, noNaN: true }),
  comesMs: ms(30),
  lastsMs: ms(30),
});
const view: fc.Arbitrary<BatchView> = fc.record(
  {
    waiting: fc.nat(100),
    background: fc.nat(50),
    oldestMs: ms(50),
    slackMs: fc.oneof(ms(100), fc.constant(Number.POSITIVE_INFINITY)),
    idleSessions: fc.nat(4),
    stageable: fc.nat(2),
    modest: fc.nat(40),
    arrivalsPerMs: ms(5),
    company: ms(50),
    drift: fc.double({ min: 0.05, max: 20, noNaN: true }),
    perItemMs: ms(10),
    heldMs: ms(50),
    forecast: fc.array(prospect, { maxLength: 10 }),
  },
  {
    requiredKeys: [
      'waiting',
      'background',
      'oldestMs',
      'slackMs',
      'idleSessions',
      'arrivalsPerMs',
      'company',
      'drift',
      'perItemMs',
    ],
  },
);
const rules: fc.Arbitrary<BatchRules> = fc
  .record({
    mode: fc.constantFrom('adaptive', 'fixed', 'off'),
    sessions: fc.integer({ min: 1, max: 4 }),
    maxBatch: fc.integer({ min: 1, max: 32 }),
    windowMs: ms(30),
    curve,
    wideCurve: fc.option(curve, { nil: undefined }),
  })
  .map(({ wideCurve, ...rest }) => ({ ...rest, ...(wideCurve && { wideCurve }) }));

/** Checks what every decision must hold to; most cases are generated around real batches. */
function always(check: (seen: BatchView, by: BatchRules, decision: BatchDecision) => void): void {
  const cases = fc.tuple(view, rules).map(([seen, by]) => {
    const idleSessions = Math.min(seen.idleSessions, by.sessions);
    return [{ ...seen, idleSessions }, by] as const;
  });
  fc.assert(
    fc.property(cases, ([seen, by]) => {
      check(seen, by, decideBatch(seen, by));
    }),
    { numRuns: 2000 },
  );
}

function costMs(points: Curve, batch: number, seen: BatchView): number {
  return latencyMs(points, batch) * seen.drift + batch * seen.perItemMs;
}

const cpu: BatchRules = {
  mode: 'adaptive',
  sessions: 2,
  maxBatch: 2,
  windowMs: 10,
  curve: CPU,
  wideCurve: CPU_WIDE,
};
const gpu: BatchRules = { mode: 'adaptive', sessions: 1, maxBatch: 32, windowMs: 10, curve: GPU };
const narrow = (size: number, extra = 0) => ({ kind: 'run', session: 'narrow', size, extra });

describe('every decision', () => {
  it('takes no more than the maximum, than what waits, and never nothing', () => {
    always((seen, by, decision) => {
      if (decision.kind !== 'run') return;
      expect(decision.size + decision.extra).toBeGreaterThanOrEqual(1);
      expect(decision.size + decision.extra).toBeLessThanOrEqual(by.maxBatch);
      expect(decision.size).toBeLessThanOrEqual(seen.waiting);
      expect(decision.extra).toBeLessThanOrEqual(seen.background);
    });
  });

  it('does nothing only without work or sessions, or to keep the last one free', () => {
    always((seen, by, decision) => {
      if (decision.kind !== 'nothing') return;
      const isWithoutWork = seen.waiting === 0 && seen.background === 0;
      const isKeptFree = seen.waiting === 0 && seen.idleSessions === 1 && by.sessions > 1;
      expect(seen.idleSessions === 0 || isWithoutWork || isKeptFree).toBe(true);
    });
  });

  it('serves interactive items first', () => {
    always((seen, _, decision) => {
      if (decision.kind === 'run' && seen.waiting > 0) expect(decision.size).toBeGreaterThan(0);
    });
  });

  it('never holds back beyond the window or the deadline, nor a full batch', () => {
    always((seen, by, decision) => {
      if (decision.kind !== 'wait') return;
      const heldMs = by.mode === 'fixed' ? seen.oldestMs : (seen.heldMs ?? seen.oldestMs);
      expect(decision.forMs).toBeGreaterThan(0);
      expect(heldMs + decision.forMs).toBeLessThanOrEqual(by.windowMs + 1e-9);
      expect(decision.forMs).toBeLessThanOrEqual(seen.slackMs);
      expect(seen.waiting).toBeLessThan(by.maxBatch);
    });
  });

  it('holds nothing back for a fixed window when that would make it late', () => {
    always((seen, by) => {
      const decision = decideBatch(seen, { ...by, mode: 'fixed' });
      if (decision.kind !== 'wait') return;
      const size = Math.min(seen.waiting, by.maxBatch);
      const leftMs = seen.slackMs - decision.forMs;
      expect(seen.oldestMs + decision.forMs).toBeLessThanOrEqual(leftMs + 1e-9);
      if (by.curve.length === 0) return;
      expect(leftMs).toBeGreaterThanOrEqual(2 * costMs(by.curve, size, seen) - 1e-9);
    });
  });

  it('is work-conserving when nothing was measured or nothing is known of the arrivals', () => {
    always((seen, by) => {
      if (seen.waiting === 0 || seen.idleSessions === 0) return;
      const mode = 'adaptive';
      expect(decideBatch(seen, { ...by, mode, curve: [] }).kind).toBe('run');
      expect(decideBatch({ ...seen, forecast: [] }, { ...by, mode }).kind).toBe('run');
      expect(decideBatch(seen, { ...by, mode, windowMs: 0 }).kind).toBe('run');
    });
  });

  it('takes the wide session only for a lone item with all sessions idle', () => {
    always((seen, by, decision) => {
      if (decision.kind !== 'run' || decision.session === 'narrow') return;
      expect([seen.waiting, decision.size, decision.extra]).toEqual([1, 1, 0]);
      expect(seen.idleSessions).toBe(by.sessions);
      expect(by.mode).toBe('adaptive');
    });
  });

  it('never lets background items make an interactive batch more than 5 % slower', () => {
    always((seen, by, decision) => {
      if (decision.kind !== 'run' || decision.size === 0 || decision.extra === 0) return;
      const alone = costMs(by.curve, decision.size, seen);
      const together = costMs(by.curve, decision.size + decision.extra, seen);
      expect(together).toBeLessThanOrEqual(alone * 1.05 + 1e-9);
      expect(decision.size).toBe(seen.waiting);
    });
  });

  it('takes one at a time when batching is off', () => {
    always((seen, by) => {
      const decision = decideBatch(seen, { ...by, mode: 'off' });
      if (decision.kind === 'run') expect(decision.size + decision.extra).toBe(1);
      else expect(decision.kind).toBe('nothing');
    });
  });
});

describe('on a CPU', () => {
  const see = (part: Partial<BatchView>) =>
    decideBatch({ ...QUIET, idleSessions: 2, perItemMs: 3.4, ...part }, cpu);
  const wide = { kind: 'run', session: 'wide', size: 1, extra: 0 };

  it('gives a lone item all cores, unless others are likely to come meanwhile', () => {
    expect(see({ waiting: 1 })).toEqual(wide);
    expect(see({ waiting: 1, arrivalsPerMs: 0.03 })).toEqual(wide);
    expect(see({ waiting: 1, arrivalsPerMs: 0.08, company: 1 })).toEqual(narrow(1));
    // One client that asks again as soon as it is answered.
    expect(see({ waiting: 1, arrivalsPerMs: 0.08, company: 0 })).toEqual(wide);
    expect(see({ waiting: 1, idleSessions: 1 })).toEqual(narrow(1));
    expect(see({ waiting: 2 })).toEqual(narrow(1));
  });

  it('takes one by one, because two at once take twice as long', () => {
    expect(see({ waiting: 2, idleSessions: 1 })).toEqual(narrow(1));
    expect(see({ waiting: 6, idleSessions: 2 })).toEqual(narrow(1));
  });

  it('fills its batches when the sessions cannot keep up', () => {
    expect(see({ waiting: 2, idleSessions: 1, company: 5 })).toEqual(narrow(2));
    // Not at the expense of a tenant that has nothing else in work.
    expect(see({ waiting: 2, idleSessions: 1, company: 5, modest: 1 })).toEqual(narrow(1));
  });

  it('keeps the last session free for interactive items while there are any', () => {
    const background = 5;
    expect(see({ background, idleSessions: 1, arrivalsPerMs: 0.01 })).toEqual({ kind: 'nothing' });
    expect(see({ background, idleSessions: 2, arrivalsPerMs: 0.01 })).toEqual(narrow(0, 1));
    expect(see({ background, idleSessions: 1, arrivalsPerMs: 0.0001 })).toEqual(narrow(0, 2));
  });
});

describe('on a GPU', () => {
  const see = (part: Partial<BatchView>, by = gpu) => decideBatch({ ...QUIET, ...part }, by);
  const soon = { withinMs: 1, chance: 0.9, comesMs: 0.2, lastsMs: 0.28 };
  const late = { withinMs: 8, chance: 0.9, comesMs: 7, lastsMs: 7.1 };

  it('takes all that wait, up to the maximum', () => {
    expect(see({ waiting: 1 })).toEqual(narrow(1));
    expect(see({ waiting: 20 })).toEqual(narrow(20));
    expect(see({ waiting: 50 })).toEqual(narrow(32));
  });

  it('holds back when somebody is about to come', () => {
    expect(see({ waiting: 1, forecast: [soon, late] })).toEqual({ kind: 'wait', forMs: 1 });
  });

  it('does not when nobody is, when it would last too long, or when others would pay', () => {
    expect(see({ waiting: 1, forecast: [{ ...soon, chance: 0.1, lastsMs: 0.92 }] }).kind).toBe(
      'run',
    );
    expect(see({ waiting: 1, forecast: [late] }).kind).toBe('run');
    expect(see({ waiting: 16, forecast: [soon] }).kind).toBe('run');
    expect(see({ waiting: 1, heldMs: 9.5, forecast: [soon] }).kind).toBe('run');
    expect(see({ waiting: 1, slackMs: 3, forecast: [soon] }).kind).toBe('run');
  });

  it('does not while another session is free', () => {
    const by = { ...gpu, sessions: 2 };
    expect(see({ waiting: 1, idleSessions: 2, forecast: [soon] }, by).kind).toBe('run');
  });

  it('lets background items ride in slots that cost nothing, and no others', () => {
    expect(see({ waiting: 1, background: 10 })).toEqual(narrow(1, 3));
    expect(see({ waiting: 8, background: 10 })).toEqual(narrow(8));
    expect(see({ background: 10, arrivalsPerMs: 0.1 })).toEqual(narrow(0, 4));
    expect(see({ background: 10 })).toEqual(narrow(0, 10));
  });

  it('puts items into one batch that takes no longer, and shares out more of them', () => {
    const by = { ...gpu, sessions: 2 };
    expect(see({ waiting: 4, idleSessions: 2 }, by)).toEqual(narrow(4));
    expect(see({ waiting: 40, idleSessions: 2 }, by)).toEqual(narrow(20));
  });
});
