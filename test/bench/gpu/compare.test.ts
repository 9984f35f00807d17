import { describe, expect, it } from 'vitest';
import { inTurn } from '../../../bench/gpu/compare.js';

describe('servers that are compared', () => {
  it('are all measured in every round, and another one first each time', () => {
    const rounds = [0, 1, 2, 3].map((round) => inTurn(['a', 'b', 'c'], round).join(''));
    expect(rounds).toEqual(['abc', 'bca', 'cab', 'abc']);
    expect(inTurn([], 2)).toEqual([]);
  });
});
