import { describe, expect, it } from 'vitest';
import { ByteBudget } from '../../src/admission/byte-budget.js';
import { expectCode } from '../helpers/errors.js';

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
