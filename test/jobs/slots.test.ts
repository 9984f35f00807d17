import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { Slots } from '../../src/jobs/embedded/slots.js';

/** Everything that is ready to run, has run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('Slots', () => {
  it('keep as many at work as they are, and miss nothing, whatever comes when', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.nat(3), { maxLength: 12 }),
        async (count, arrivals) => {
          let stock = 0;
          let [active, peak, done] = [0, 0, 0];
          const slots = new Slots<number>(count, {
            take: async (most) => {
              await settled();
              const taken = Math.min(most, stock);
              stock -= taken;
              return { work: Array.from({ length: taken }, (_, at) => at), nextAt: undefined };
            },
            run: async () => {
              peak = Math.max(peak, ++active);
              await settled();
              active--;
              done++;
            },
            onProblem: (error) => {
              throw error as Error;
            },
          });
          for (const more of arrivals) {
            stock += more;
            slots.wake();
            await settled();
          }
          while (slots.active > 0 || stock > 0) await settled();
          await slots.close();
          expect(done).toBe(arrivals.reduce((sum, more) => sum + more, 0));
          expect(peak).toBeLessThanOrEqual(count);
        },
      ),
    );
  });

  it('take nothing while they are held, whatever calls them', async () => {
    let [stock, taken] = [5, 0];
    const slots = new Slots<number>(1, {
      take: () => Promise.resolve({ work: stock-- > 0 ? [1] : [], nextAt: undefined }),
      run: () => {
        taken++;
        // What is in work goes on.
        slots.hold(taken === 2);
        return Promise.resolve();
      },
      onProblem: () => undefined,
    });
    for (let index = 0; index < 20; index++) {
      slots.wake();
      await settled();
    }
    expect([taken, slots.active]).toEqual([2, 0]);
    slots.hold(false);
    while (taken < 5) await settled();
    await slots.close();
  });

  it('come back by themselves when something will be ready, and after a problem', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    const results: (() => Promise<{ work: number[]; nextAt: number | undefined }>)[] = [
      () => Promise.reject(new Error('gone')),
      () => Promise.resolve({ work: [], nextAt: Date.now() + 60_000 }),
      () => Promise.resolve({ work: [7], nextAt: undefined }),
    ];
    const ran: number[] = [];
    const problems: unknown[] = [];
    const slots = new Slots<number>(1, {
      take: () => results.shift()?.() ?? Promise.resolve({ work: [], nextAt: undefined }),
      run: (work) => {
        ran.push(work);
        return Promise.resolve();
      },
      onProblem: (error) => problems.push(error),
    });
    await vi.advanceTimersByTimeAsync(500);
    expect([problems.length, ran.length]).toEqual([1, 0]);
    await vi.advanceTimersByTimeAsync(59_000);
    expect(ran).toEqual([]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(ran).toEqual([7]);
    await slots.close();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });
});
