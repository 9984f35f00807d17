import { describe, expect, it } from 'vitest';
import { parseServeArgs } from '../../src/cli/serve.js';
import { AUTO, autoWithTarget, flagsOf, setByHand } from '../../src/tune/candidate.js';

describe('a candidate', () => {
  it('sets nothing when the server shall decide', () => {
    expect(flagsOf(AUTO)).toEqual([]);
    expect(flagsOf(autoWithTarget(50))).toEqual(['--slo-p99-ms', '50']);
  });

  it('has a name of its own', () => {
    const split = { sessions: 2, threads: 4 };
    const names = [
      AUTO,
      autoWithTarget(5),
      setByHand(split, 1, undefined),
      setByHand(split, 2, undefined),
      setByHand(split, 2, 0),
      setByHand(split, 2, 5),
    ].map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.at(-1)).toBe('2 × 4, batch 2, window 5 ms');
  });

  it('is said in flags that the server knows', () => {
    const flags = flagsOf(setByHand({ sessions: 2, threads: 1 }, 8, 5));
    expect(parseServeArgs(flags)).toMatchObject({
      flags: { sessions: '2', threads: '1', max_batch: '8', batching: 'fixed', window_ms: '5' },
    });
  });
});
