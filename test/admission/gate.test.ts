import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Gate, type GateLimits, type Visitor } from '../../src/admission/gate.js';
import type { Tenant } from '../../src/admission/tenant.js';
import { Cancellation } from '../../src/cancellation.js';
import type { ShoalError } from '../../src/errors.js';
import { expectCode, expectRejection } from '../helpers/errors.js';
import { LIMITS, tenant, visitor } from '../helpers/visitors.js';

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

const tick = (): Promise<void> => new Promise(setImmediate);

describe('Gate', () => {
  it('lets in what fits, queues what may wait and refuses exactly the rest', async () => {
    const gate = new Gate(LIMITS);
    const work = deferred();
    const all = Array.from({ length: 8 }, () =>
      gate.run(visitor(), new Cancellation(), () => work.promise),
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
    const run = (bytes: number): Promise<void> =>
      gate.run(visitor({ bytes }), new Cancellation(), () => work.promise);
    const running = [run(1000), run(1000)];
    const waiting = run(60);
    await expectRejection('queue_full', run(60));
    expectCode('queue_full', () => {
      gate.check(visitor({ bytes: 60 }));
    });
    work.resolve();
    await Promise.all([...running, waiting]);
  });

  describe('with a forecast', () => {
    /** Two sessions that take 100 ms for one item each: 20 items a second. */
    function busyGate(limits: Partial<GateLimits> = {}) {
      const clock = { now: 1000 };
      const gate = new Gate({ ...LIMITS, maxQueue: 1000, ...limits }, () => clock.now);
      gate.forecast.setPlan(2, { size: 1, ms: 100 });
      const work = deferred();
      const fill = (count: number, part: Partial<Visitor> = {}): void => {
        for (let index = 0; index < count; index++) {
          void gate.run(visitor(part), new Cancellation(), () => work.promise);
        }
      };
      return { gate, clock, fill };
    }

    it('predicts when an answer would come', () => {
      const { gate, fill } = busyGate();
      expect(gate.predictMs(visitor())).toBe(100);
      fill(2);
      expect(gate.predictMs(visitor())).toBe(150);
      fill(4);
      expect(gate.predictMs(visitor())).toBe(350);
    });

    it('refuses what would come after its deadline, and says when there will be room', () => {
      const { gate, fill, clock } = busyGate();
      fill(4);
      gate.check(visitor({ deadline: clock.now + 250 }));
      try {
        gate.check(visitor({ deadline: clock.now + 249 }));
        expect.unreachable();
      } catch (error) {
        expect(error as ShoalError).toMatchObject({ code: 'too_late', retryAfterSeconds: 1 });
      }
    });

    it('refuses what would wait too long, even without a deadline', () => {
      const { gate, fill } = busyGate({ maxWaitMs: 250 });
      fill(6);
      gate.check(visitor());
      fill(1);
      expectCode('too_late', () => {
        gate.check(visitor());
      });
      // Background work has time.
      gate.check(visitor({ isBackground: true }));
    });

    it('keeps to a target', () => {
      const { gate, fill } = busyGate({ targetMs: 200 });
      fill(3);
      gate.check(visitor());
      fill(1);
      expectCode('too_late', () => {
        gate.check(visitor());
      });
    });

    it('lets whoever comes back as told go before the others', () => {
      const { gate, fill, clock } = busyGate({ maxWaitMs: 250 });
      fill(7);
      expectCode('too_late', () => {
        gate.check(visitor({ id: 'patient' }));
      });
      expect(gate.isExpected('patient')).toBe(false);
      clock.now += 1000;
      expect(gate.isExpected('somebody else')).toBe(false);
      expect([gate.isExpected('patient'), gate.redeem('patient')]).toEqual([true, true]);
      // Once.
      expect([gate.isExpected('patient'), gate.redeem('patient')]).toEqual([false, false]);
      gate.check(visitor({ isExpected: true }));
      fill(1, { isExpected: true });
      expectCode('too_late', () => {
        gate.check(visitor({ isExpected: true }));
      });
    });

    it('believes what really leaves while others wait', async () => {
      const clock = { now: 0 };
      const gate = new Gate({ ...LIMITS, maxQueue: 1000, maxWaitMs: 1e6 }, () => clock.now);
      gate.forecast.setPlan(2, { size: 1, ms: 10 });
      const open: (() => void)[] = [];
      for (let index = 0; index < 60; index++) {
        void gate.run(visitor(), new Cancellation(), () => {
          const { promise, resolve } = deferred();
          open.push(resolve);
          return promise;
        });
      }
      for (let index = 0; index < 40; index++) {
        clock.now += 50;
        open.shift()?.();
        await tick();
      }
      // One per 50 ms instead of one per 5 ms, with 20 before it.
      expect(gate.predictMs(visitor())).toBeGreaterThan(900);
    });
  });

  it('lets interactive work in before background work, which gets what is left', async () => {
    const gate = new Gate({ ...LIMITS, maxQueue: 100 });
    const order: string[] = [];
    const open: (() => void)[] = [];
    const add = (name: string, isBackground: boolean): Promise<void> =>
      gate.run(visitor({ isBackground }), new Cancellation(), () => {
        order.push(name);
        const { promise, resolve } = deferred();
        open.push(resolve);
        return promise;
      });
    const all = [add('b1', true), add('b2', true), add('b3', true)];
    // Background work in the engine does not keep interactive work out.
    all.push(add('i1', false), add('i2', false), add('i3', false));
    await tick();
    expect(order).toEqual(['b1', 'b2', 'i1', 'i2']);
    while (gate.inFlight + gate.waiting > 0) {
      open.shift()?.();
      await tick();
    }
    await Promise.all(all);
    expect(order).toEqual(['b1', 'b2', 'i1', 'i2', 'i3', 'b3']);
  });

  it('does not let background work that waits keep interactive work out', () => {
    const gate = new Gate({ ...LIMITS, maxQueue: 3 });
    const never = new Promise<void>(() => undefined);
    const enter = (isBackground: boolean): void => {
      void gate.run(visitor({ isBackground }), new Cancellation(), () => never);
    };
    for (let index = 0; index < 2; index++) enter(false);
    for (let index = 0; index < 3; index++) enter(true);
    expectCode('queue_full', () => {
      gate.check(visitor({ isBackground: true }));
    });
    gate.check(visitor());
  });

  it('does not let one tenant fill the queue', () => {
    const gate = new Gate({ ...LIMITS, maxQueue: 10 });
    const [greedy, modest] = [tenant('greedy', 1, 0.5), tenant('modest', 1, 0.5)];
    const never = new Promise<void>(() => undefined);
    for (let index = 0; index < 7; index++) {
      void gate.run(visitor({ tenant: greedy }), new Cancellation(), () => never);
    }
    expectCode('queue_full', () => {
      gate.check(visitor({ tenant: greedy }));
    });
    gate.check(visitor({ tenant: modest }));
  });

  it('has a place for one of every tenant, whatever the others have in work', () => {
    const gate = new Gate({ ...LIMITS, maxQueue: 0 });
    const never = new Promise<void>(() => undefined);
    const enter = (who: Tenant): void => {
      void gate.run(visitor({ tenant: who }), new Cancellation(), () => never);
    };
    const [greedy, modest] = [tenant('greedy'), tenant('modest')];
    for (let index = 0; index < 2; index++) enter(greedy);
    expectCode('queue_full', () => {
      gate.check(visitor({ tenant: greedy }));
    });
    enter(modest);
    expect([gate.inFlight, gate.waiting]).toEqual([3, 0]);
    expectCode('queue_full', () => {
      gate.check(visitor({ tenant: modest }));
    });
  });

  it('frees the place of work that throws', async () => {
    const gate = new Gate({ ...LIMITS, maxConcurrent: 1 });
    const run = <T>(work: () => Promise<T>): Promise<T> =>
      gate.run(visitor(), new Cancellation(), work);
    await expect(run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await expect(run(() => Promise.resolve(5))).resolves.toBe(5);
  });

  it('never exceeds its limits and settles everybody, whatever is cancelled when', async () => {
    const event = fc.record({
      bytes: fc.nat(80),
      cancel: fc.boolean(),
      finish: fc.nat(10),
      isBackground: fc.boolean(),
      who: fc.nat(2),
    });
    const tenants = [tenant('a'), tenant('b', 2), tenant('c', 5)];
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
        const gate = new Gate(LIMITS);
        const open = new Set<() => void>();
        const running = { interactive: 0, background: 0 };
        const runs = events.map(async ({ bytes, cancel, finish, isBackground, who }) => {
          const cancellation = new Cancellation();
          const kind = isBackground ? 'background' : 'interactive';
          const one = visitor({ bytes, isBackground, tenant: tenants[who] as Tenant });
          const run = gate.run(one, cancellation, async () => {
            running[kind]++;
            // A tenant that has nothing in work always finds a place.
            const most = LIMITS.maxConcurrent * (isBackground ? 1 : 2);
            expect(running[kind]).toBeLessThanOrEqual(most);
            const { promise, resolve } = deferred();
            open.add(resolve);
            await promise;
            running[kind]--;
          });
          expect(gate.waiting).toBeLessThanOrEqual(2 * LIMITS.maxQueue);
          if (cancel) cancellation.cancel(new Error('gone'));
          for (const resolve of [...open].slice(0, finish)) resolve();
          await run.catch(() => undefined);
        });
        while (gate.inFlight > 0 || gate.waiting > 0) {
          for (const resolve of open) resolve();
          open.clear();
          await tick();
        }
        await Promise.all(runs);
        expect([running.interactive, running.background]).toEqual([0, 0]);
        expect([gate.inFlight, gate.waiting]).toEqual([0, 0]);
      }),
      { numRuns: 60 },
    );
  });
});
