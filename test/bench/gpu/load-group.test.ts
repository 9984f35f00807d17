import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeRuns, processesFor, shares, steadyRate } from '../../../bench/gpu/load-group.js';
import type { Outcome } from '../../../src/load/attempt.js';
import { Recorder } from '../../../src/load/recorder.js';
import { parseHead } from '../../../src/load/response-head.js';

function answered(status: number): Outcome {
  const head = parseHead(`HTTP/1.1 ${String(status)} Word\r\nContent-Length: 0`);
  if (head === undefined) throw new Error('no head');
  return { kind: 'answer', head };
}

function run(latenciesMs: readonly number[], statuses: readonly number[]) {
  const recorder = new Recorder();
  latenciesMs.forEach((ms) => {
    recorder.sent(0);
    recorder.ended(answered(200), ms, ms);
  });
  statuses.forEach((status) => {
    recorder.sent(0);
    recorder.ended(answered(status), 1, 1);
  });
  return recorder.finish(1, 1);
}

describe('several load generators', () => {
  it('are as many as the connections need, up to four', () => {
    expect([1, 64, 65, 256, 512].map(processesFor)).toEqual([1, 1, 2, 4, 4]);
  });

  it('share connections evenly and leave none out', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 600 }),
        fc.integer({ min: 1, max: 8 }),
        (all, parts) => {
          const split = shares(all, parts);
          expect(split.reduce((sum, one) => sum + one, 0)).toBe(all);
          expect(Math.max(...split) - Math.min(...split)).toBeLessThanOrEqual(1);
        },
      ),
    );
  });

  it('are one in the result', () => {
    const merged = mergeRuns([run([110, 120], [429, 500]), run([130, 140], [503, 500])]);
    expect(merged).toMatchObject({ ok: 4, refused: 2, failed: 2, p50Ms: 120 });
    expect(merged.perSecond).toBeCloseTo(4 / 0.9);
    expect(merged.p99Ms).toBe(140);
    expect(merged.errors).toEqual({ '500': 2 });
  });

  it('count answers neither before they come steadily nor after the end', () => {
    const answers = Array.from({ length: 120 }, (_, index) => 10 * (index + 1));
    expect(steadyRate(run(answers, []))).toBeCloseTo(100);
    expect(steadyRate(run([50, 1050], []))).toBe(0);
  });
});
