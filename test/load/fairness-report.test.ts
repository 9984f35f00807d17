import { describe, expect, it } from 'vitest';
import {
  type FairnessCase,
  type FairnessFindings,
  fairnessTable,
  fairnessVerdicts,
  slowdown,
} from '../../bench/fairness-report.js';
import type { LoadResult } from '../../src/load/load-result.js';
import { Recorder } from '../../src/load/recorder.js';

function result(p99: number | null, ok = 100, offered = 100): LoadResult {
  const { result: empty } = new Recorder().finish(20, 20);
  const latencyMs =
    p99 === null ? null : { count: ok, mean: 1, p50: 1, p90: 1, p95: 1, p99, max: p99 };
  return { ...empty, latencyMs, ok, offered, refused: offered - ok };
}

function findings(greedy: LoadResult): FairnessFindings {
  const load = (name: string, b: LoadResult, a: LoadResult | null): FairnessCase => ({
    name,
    a,
    b,
  });
  return {
    peak: 90,
    alone: load('B alone', result(20), null),
    fair: load('A at its share', result(40), result(40)),
    greedy: load('A at 10× its share', greedy, result(400, 70, 450)),
  };
}

const kept = (greedy: LoadResult): boolean[] =>
  fairnessVerdicts(findings(greedy)).map(({ isKept }) => isKept);

describe('fairness', () => {
  it('is kept when B waits at most 1.5 times as long as beside a fair neighbour', () => {
    expect(kept(result(60))).toEqual([true, true]);
    expect(kept(result(61))).toEqual([false, true]);
  });

  it('is not proved by the few that were answered', () => {
    expect(kept(result(30, 98))).toEqual([true, false]);
    expect(kept(result(null, 0))).toEqual([false, false]);
    expect(kept(result(null, 0, 0))).toEqual([false, false]);
  });

  it('is compared with B alone, too', () => {
    const all = findings(result(60));
    expect(slowdown(all, all.alone)).toBe(3);
    expect(slowdown(findings(result(null, 0)), all.alone)).toBeNull();
  });

  it('is shown as a line per case', () => {
    const lines = fairnessTable(findings(result(60, 99))).split('\n');
    expect(lines).toHaveLength(4);
    expect(lines[1]).toMatch(/^B alone +– +– +– +– +100 +100 +0 +0 +1\.00 +20\.0 /);
    expect(lines[3]).toMatch(/^A at 10× its share .* 380 +0 +100 +99 +1 +0 +1\.00 +60\.0 /);
  });
});
