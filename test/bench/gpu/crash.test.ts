import { describe, expect, it } from 'vitest';
import { crashRows } from '../../../bench/gpu/crash.js';

describe('what clients see of a kill', () => {
  it('is the longest silence until the next one, and when it ended', () => {
    const answers = [10, 90, 105, 400, 410, 990, 1020, 1500, 1510];
    expect(crashRows(answers, [100, 1000], 1600)).toEqual([
      { kill: 1, silenceMs: 580, servingAfterMs: 890 },
      { kill: 2, silenceMs: 480, servingAfterMs: 500 },
    ]);
  });

  it('knows no end of a silence that lasts', () => {
    expect(crashRows([10, 110], [100], 2000)).toEqual([
      { kill: 1, silenceMs: 1890, servingAfterMs: null },
    ]);
    expect(crashRows([], [100], 2000)).toEqual([
      { kill: 1, silenceMs: 1900, servingAfterMs: null },
    ]);
  });

  it('takes answers in any order', () => {
    expect(crashRows([400, 105], [100], 500)).toEqual(crashRows([105, 400], [100], 500));
  });
});
