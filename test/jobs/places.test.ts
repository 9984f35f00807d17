import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JOB_PRIORITIES } from '../../src/jobs/job.js';
import { Places } from '../../src/jobs/places.js';

/** Everything that is ready to run, has run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('places for images', () => {
  it('are so many, given in order, and given back when work fails', async () => {
    const places = new Places(2);
    const order: number[] = [];
    let [active, peak] = [0, 0];
    const outcomes = await Promise.allSettled(
      Array.from({ length: 9 }, (_, at) =>
        places.run('normal', async () => {
          order.push(at);
          peak = Math.max(peak, ++active);
          await settled();
          active--;
          if (at % 3 === 0) throw new Error('it failed');
        }),
      ),
    );
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(peak).toBe(2);
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(3);
  });

  it('go to higher priorities first, whoever came before', async () => {
    const priority = fc.constantFrom(...JOB_PRIORITIES);
    await fc.assert(
      fc.asyncProperty(fc.array(priority, { maxLength: 12 }), async (priorities) => {
        const places = new Places(1);
        const order: number[] = [];
        const run = (at: number): Promise<void> =>
          places.run(priorities[at] ?? 'low', async () => {
            order.push(at);
            await settled();
          });
        const first = places.run('low', settled);
        await Promise.all([first, ...priorities.map((_, at) => run(at))]);
        const expected = JOB_PRIORITIES.flatMap((one) =>
          priorities.flatMap((other, at) => (one === other ? [at] : [])),
        );
        expect(order).toEqual(expected);
      }),
    );
  });
});
