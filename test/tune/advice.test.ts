import { describe, expect, it } from 'vitest';
import { adviceFor, configLines, differing } from '../../src/tune/advice.js';
import { autoWithTarget, setByHand } from '../../src/tune/candidate.js';
import { choose } from '../../src/tune/choice.js';
import type { Finding } from '../../src/tune/finding.js';
import { found, foundAs, foundAuto, pacedVisit, planOf, visitOf } from '../helpers/findings.js';

const advise = (findings: Finding[], targetP99Ms?: number) =>
  adviceFor(choose(findings, targetP99Ms), targetP99Ms);

describe('the advice', () => {
  it('is to set nothing where auto is as good, or nearly', () => {
    for (const [rate, share] of [
      [97.1, 97],
      [100, 100],
      [120, 120],
    ] as const) {
      const { sentence, settings } = advise([
        foundAuto([2, 1, 2], visitOf(rate, 50)),
        found([1, 2, 8], visitOf(100, 50)),
      ]);
      expect(sentence).toContain(`reaches ${String(share)} % of the best found; there is nothing`);
      expect(settings).toEqual({});
    }
  });

  it('is otherwise what differs, and no more', () => {
    const auto = foundAuto([2, 1, 2], visitOf(90, 50));
    const { sentence, settings } = advise([auto, found([2, 1, 8], visitOf(100, 50))]);
    expect(settings).toEqual({ max_batch: 8 });
    expect(configLines(settings)).toEqual(['max_batch: 8']);
    expect(sentence).toBe(
      'Set max_batch to 8: 100 images/s. The plan the server made for itself reaches 90 % of the ' +
        'best found (90.0 images/s).',
    );
    const other = advise([auto, found([1, 2, 8], visitOf(100, 50))]);
    expect(other.sentence).toMatch(/^Set sessions to 1, threads to 2 and max_batch to 8: /);
  });

  it('does not ask to set what is so already', () => {
    const { sentence, settings } = advise([
      foundAuto([2, 1, 2], visitOf(50, 50)),
      found([2, 1, 2], visitOf(100, 50)),
    ]);
    expect(settings).toEqual({});
    expect(sentence).toContain('too noisy');
  });

  it('names windows only where they matter', () => {
    const { settings } = setByHand({ sessions: 2, threads: 1 }, 4, 10);
    expect(differing(settings, planOf(2, 1, 4))).toEqual({ batching: 'fixed' });
    expect(differing(settings, planOf(2, 1, 4, { window_ms: 5 }))).toEqual({
      batching: 'fixed',
      window_ms: 10,
    });
  });

  it('says so where there is nothing to compare', () => {
    expect(advise([]).settings).toEqual({});
    expect(advise([foundAuto([2, 1, 2], visitOf(1, 1))]).sentence).toContain('nothing to compare');
  });
});

describe('the advice under a target', () => {
  const inTime = found([2, 1, 1], pacedVisit(80, 40));

  it('is what meets it where auto does not', () => {
    const { sentence, settings } = advise([foundAuto([2, 1, 8], pacedVisit(100, 70)), inTime], 50);
    expect(settings).toEqual({ max_batch: 1 });
    expect(sentence).toContain('the p99 is 40.0 ms, where the plan the server made for itself has');
  });

  it('may be to tell the server the target', () => {
    const told = foundAs(autoWithTarget(50), planOf(2, 1, 1), pacedVisit(90, 45));
    const { settings } = advise([foundAuto([2, 1, 8], pacedVisit(100, 70)), inTime, told], 50);
    expect(configLines(settings)).toEqual(['slo_p99_ms: 50']);
  });

  it('is nothing where auto alone meets it, or nobody does', () => {
    const auto = foundAuto([2, 1, 2], pacedVisit(70, 30));
    expect(advise([auto, inTime], 35).sentence).toContain('Only the plan the server made');
    const none = advise([auto, inTime], 20);
    expect(none.sentence).toContain('No plan was found that keeps the p99 at or below 20 ms');
    expect(none.sentence).toContain('"auto" comes nearest with 30.0 ms');
    expect(none.settings).toEqual({});
  });

  it('is nothing where both meet it and are as good', () => {
    const auto = foundAuto([2, 1, 2], pacedVisit(79, 45));
    expect(advise([auto, inTime], 50).sentence).toContain('99 % of the best found; there is');
  });
});
