import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Gate, type Visitor } from '../../src/admission/gate.js';
import { Cancellation } from '../../src/cancellation.js';
import { LIMITS, visitor } from '../helpers/visitors.js';

describe('a crowded gate', () => {
  it('is crowded when whoever comes may be refused soon, not when somebody waits', async () => {
    const limits = { ...LIMITS, maxQueue: 8, maxQueueBytes: 1000 };
    const gate = new Gate(limits);
    let finish = (): void => undefined;
    const work = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const all: Promise<void>[] = [];
    const crowdedAfter = (part: Partial<Visitor> = {}): boolean => {
      all.push(gate.run(visitor(part), new Cancellation(), () => work));
      return gate.isCrowded;
    };
    expect(gate.isCrowded).toBe(false);
    // Two in work, three that wait: half of the eight places are not taken yet.
    for (let count = 0; count < 5; count++) expect(crowdedAfter()).toBe(false);
    expect(crowdedAfter()).toBe(true);
    gate.setLimits({ ...limits, maxQueue: 100 });
    expect(gate.isCrowded).toBe(false);
    // By their size.
    expect(crowdedAfter({ bytes: 600 })).toBe(true);
    gate.setLimits({ ...limits, maxQueue: 100, maxQueueBytes: 10_000 });
    expect(gate.isCrowded).toBe(false);
    // By the time that it would take: seven before it, 10 ms each, and 30 ms or less to wait.
    gate.forecast.setPlan(1, { size: 1, ms: 10 });
    expect(gate.isCrowded).toBe(false);
    for (const most of [{ maxWaitMs: 100 }, { targetMs: 100 }]) {
      gate.setLimits({ ...limits, maxQueue: 100, maxQueueBytes: 10_000, ...most });
      expect(gate.isCrowded).toBe(true);
    }
    finish();
    await Promise.all(all);
    expect(gate.isCrowded).toBe(false);
  });

  it('is crowded wherever somebody would be refused, as long as nobody has special wishes', () => {
    const numbers = fc.record({
      maxConcurrent: fc.integer({ min: 1, max: 4 }),
      maxQueue: fc.nat(10),
      maxQueueBytes: fc.integer({ min: 1, max: 20 }),
      maxWaitMs: fc.integer({ min: 1, max: 200 }),
      targetMs: fc.nat(200),
    });
    const plan = fc.record({
      size: fc.integer({ min: 1, max: 8 }),
      ms: fc.integer({ min: 1, max: 100 }),
    });
    fc.assert(
      fc.property(numbers, plan, fc.nat(20), (limits, batch, count) => {
        const gate = new Gate(limits);
        gate.forecast.setPlan(1, batch);
        for (let left = count; left > 0; left--) {
          void gate
            .run(visitor(), new Cancellation(), () => new Promise<void>(() => undefined))
            .catch(() => undefined);
        }
        // Its tenant has something in work, or there is room for it.
        const refusal = gate.assess(visitor());
        expect(refusal === undefined || gate.isCrowded).toBe(true);
      }),
    );
  });
});
