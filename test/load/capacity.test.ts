import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { capacityOf, type CapacityStep, nextRate } from '../../src/load/capacity.js';

const limits = { startRate: 10, minRate: 1, maxRate: 20_000, tolerance: 0.05 };

/** Searches a server that keeps up with a rate, or does not, according to `keepsUp`. */
function search(keepsUp: (rate: number) => boolean): CapacityStep[] {
  const steps: CapacityStep[] = [];
  for (;;) {
    const rate = nextRate(steps, limits);
    if (rate === undefined) return steps;
    expect(steps.length).toBeLessThan(40);
    steps.push({ rate, isGood: keepsUp(rate) });
  }
}

describe('the search for the capacity', () => {
  it('doubles, then bisects', () => {
    const steps = search((rate) => rate <= 90);
    expect(steps.slice(0, 5).map(({ rate }) => rate)).toEqual([10, 20, 40, 80, 160]);
    expect(steps[5]?.rate).toBeCloseTo(Math.sqrt(80 * 160));
  });

  it('comes within its tolerance of the truth', () => {
    fc.assert(
      fc.property(fc.double({ min: 1, max: 15_000, noNaN: true }), (truth) => {
        const found = capacityOf(search((rate) => rate <= truth)) as number;
        expect(found).toBeLessThanOrEqual(truth);
        expect(found).toBeGreaterThanOrEqual(truth / 1.06);
      }),
    );
  });

  it('ends when nothing is bad, when nothing is good, and when answers contradict each other', () => {
    expect(capacityOf(search(() => true))).toBe(20_000);
    expect(capacityOf(search(() => false))).toBeUndefined();
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }), (answers) => {
        expect(search(() => answers.pop() === true).length).toBeLessThan(40);
      }),
    );
  });
});
