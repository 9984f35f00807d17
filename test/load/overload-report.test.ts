import { describe, expect, it } from 'vitest';
import {
  type OverloadFindings,
  overloadTable,
  type OverloadStep,
  recoveredAfterMs,
  verdicts,
} from '../../bench/overload-report.js';
import { Recorder } from '../../src/load/recorder.js';

function loneRun(answers: readonly (readonly [atMs: number, ms: number])[]) {
  return {
    ...new Recorder().finish(3, 3),
    okMs: Float64Array.from(answers, ([, ms]) => ms),
    okAtMs: Float64Array.from(answers, ([atMs]) => atMs),
  };
}

describe('recovery', () => {
  it('is the first of three quick answers in a row', () => {
    const answers = [
      [300, 300],
      [320, 20],
      [420, 100],
      [440, 20],
      [465, 25],
      [495, 30],
      [800, 305],
    ] as const;
    expect(recoveredAfterMs(loneRun(answers), 20)).toBe(440);
    expect(recoveredAfterMs(loneRun(answers), 10)).toBeNull();
    expect(recoveredAfterMs(loneRun([]), 20)).toBeNull();
  });
});

describe('the verdicts', () => {
  const empty = new Recorder().finish(60, 61).result;
  const summary = { count: 1, mean: 1, p50: 1, p90: 1, p95: 1, max: 1 };
  const flat = { start: 0, middle: 100, end: 100, max: 100 };
  function step(factor: number, goodput: number, p99: number): OverloadStep {
    const result = { ...empty, goodput, latencyMs: { ...summary, p99 } };
    return { factor, rate: factor * 100, peak: 100, result, memory: flat };
  }
  const good: OverloadFindings = {
    closedPeak: 90,
    loneP50Ms: 20,
    recoveredAfterMs: 400,
    steps: [step(0.5, 50, 30), step(1, 100, 200), step(2, 97, 300), step(5, 95, 400)],
  };
  const broken = (findings: OverloadFindings): string[] =>
    verdicts(findings)
      .filter(({ isKept }) => !isKept)
      .map(({ promise }) => promise);
  const withLast = (last: Partial<OverloadStep>, result = {}): OverloadFindings => {
    const [half, once, twice, five] = good.steps as [OverloadStep, ...Required<OverloadStep>[]];
    const changed = { ...(five as OverloadStep), ...last };
    const steps = [half, once as OverloadStep, twice as OverloadStep];
    return { ...good, steps: [...steps, { ...changed, result: { ...changed.result, ...result } }] };
  };

  it('are kind to a server that keeps its promises', () => {
    expect(broken(good)).toEqual([]);
    expect(overloadTable(good).split('\n')).toHaveLength(5);
  });

  it.each([
    ['goodput', withLast({}, { goodput: 94 })],
    ['p99 at 5×', withLast({}, { latencyMs: { ...summary, p99: 401 } })],
    ['p99 at 5×', withLast({}, { latencyMs: null })],
    ['p99 of refusals', withLast({}, { refusalMs: { ...summary, p99: 100 } })],
    [
      'Retry-After',
      withLast(
        {},
        { retries: { ...empty.retries, honoured: 20, pending: 10, admitted: 8, refusedAgain: 2 } },
      ),
    ],
    ['lone', { ...good, recoveredAfterMs: 1001 }],
    ['lone', { ...good, recoveredAfterMs: null }],
    ['memory', withLast({ memory: { ...flat, end: 100 + 32 * 2 ** 20 } })],
  ])('see a broken promise: %s', (name, findings) => {
    expect(broken(findings)).toEqual([expect.stringContaining(name)]);
  });
});
