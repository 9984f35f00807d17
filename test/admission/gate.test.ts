import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteBudget } from '../../src/admission/byte-budget.js';
import { Gate } from '../../src/admission/gate.js';
import { Cancellation } from '../../src/cancellation.js';
import type { ShoalError } from '../../src/errors.js';
import { expectCode, expectRejection } from '../helpers/errors.js';

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

const LIMITS = { maxConcurrent: 2, maxQueue: 3, maxQueueBytes: 100 };

describe('Gate', () => {
  it('lets in what fits, queues what may wait and refuses exactly the rest', async () => {
    const gate = new Gate(LIMITS);
    const work = deferred();
    const all = Array.from({ length: 8 }, () =>
      gate.run(1, new Cancellation(), () => work.promise),
    );
    const outcomes = Promise.allSettled(all);
    expect([gate.inFlight, gate.waiting]).toEqual([2, 3]);
    work.resolve();
    const refused = (await outcomes).filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(3);
    expect([gate.inFlight, gate.waiting]).toEqual([0, 0]);
  });

  it('bounds the bytes that wait, too', async () => {
    const gate = new Gate(LIMITS);
    const work = deferred();
    const running = [1, 2].map(() => gate.run(1000, new Cancellation(), () => work.promise));
    const waiting = gate.run(60, new Cancellation(), () => work.promise);
    await expectRejection(
      'queue_full',
      gate.run(60, new Cancellation(), () => work.promise),
    );
    expectCode('queue_full', () => {
      gate.check(60);
    });
    work.resolve();
    await Promise.all([...running, waiting]);
  });

  it('says when to come back, from the rate at which work leaves', async () => {
    let now = 0;
    const gate = new Gate({ ...LIMITS, maxQueue: 0 }, () => now);
    for (let round = 0; round < 50; round++) {
      const [a, b] = [deferred(), deferred()];
      const runs = [a, b].map(({ promise }) => gate.run(1, new Cancellation(), () => promise));
      for (const { resolve } of [a, b]) {
        now += 3000;
        resolve();
        await Promise.resolve();
        await new Promise(setImmediate);
      }
      await Promise.all(runs);
    }
    const work = deferred();
    const runs = [1, 2].map(() => gate.run(1, new Cancellation(), () => work.promise));
    const refusal = await gate
      .run(1, new Cancellation(), () => work.promise)
      .catch((error: unknown) => error as ShoalError);
    expect(refusal).toMatchObject({ code: 'queue_full', retryAfterSeconds: 6 });
    work.resolve();
    await Promise.all(runs);
  });

  it('frees the place of work that throws', async () => {
    const gate = new Gate({ ...LIMITS, maxConcurrent: 1 });
    const failure = gate.run(1, new Cancellation(), () => Promise.reject(new Error('no')));
    await expect(failure).rejects.toThrow('no');
    await expect(gate.run(1, new Cancellation(), () => Promise.resolve(5))).resolves.toBe(5);
  });

  it('never exceeds its limits and settles everybody, whatever is cancelled when', async () => {
    const event = fc.record({ bytes: fc.nat(80), cancel: fc.boolean(), finish: fc.nat(10) });
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
        const gate = new Gate(LIMITS);
        const open = new Set<() => void>();
        let running = 0;
        const runs = events.map(async ({ bytes, cancel, finish }) => {
          const cancellation = new Cancellation();
          const run = gate.run(bytes, cancellation, async () => {
            running++;
            expect(running).toBeLessThanOrEqual(LIMITS.maxConcurrent);
            const { promise, resolve } = deferred();
            open.add(resolve);
            await promise;
            running--;
          });
          expect(gate.waiting).toBeLessThanOrEqual(LIMITS.maxQueue);
          if (cancel) cancellation.cancel(new Error('gone'));
          for (const resolve of [...open].slice(0, finish)) resolve();
          await run.catch(() => undefined);
        });
        while (gate.inFlight > 0 || gate.waiting > 0) {
          for (const resolve of open) resolve();
          open.clear();
          await new Promise(setImmediate);
        }
        await Promise.all(runs);
        expect([running, gate.inFlight, gate.waiting]).toEqual([0, 0, 0]);
      }),
      { numRuns: 60 },
    );
  });
});

describe('ByteBudget', () => {
  it('counts what arrives, refuses what does not fit and gives back once', () => {
    const budget = new ByteBudget(100);
    const first = budget.open(70);
    expect(budget.usedBytes).toBe(0);
    first.grow(70);
    expectCode('memory_full', () => budget.open(40));
    const second = budget.open(0);
    expectCode('memory_full', () => {
      second.grow(40);
    });
    first.release();
    first.release();
    first.grow(10);
    expect(budget.usedBytes).toBe(0);
  });
});
