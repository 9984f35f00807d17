import { describe, expect, it } from 'vitest';
import { frontier } from '../../bench/simulate/frontier.js';
import { readSection } from '../../bench/simulate/page.js';
import { poisson } from '../../bench/simulate/patterns.js';
import { loadProfile } from '../../bench/simulate/profile.js';
import { RULES } from '../../bench/simulate/rules/index.js';
import { fitLine } from '../../bench/simulate/rules/fit-line.js';
import { compare, compareWaiting, type Result } from '../../bench/simulate/scenarios.js';
import { simulate } from '../../bench/simulate/simulate.js';
import { details, patternList } from '../../bench/simulate/table.js';
import type { Outcome } from '../../bench/simulate/tally.js';

const row = (results: readonly Result[], pattern: string, rule: string) =>
  results.find((each) => each.pattern.name === pattern)?.rows.find((each) => each.rule === rule);

describe('the simulation', () => {
  it.each(RULES.map(({ name }) => name))('%s: gives the same outcome every time', (name) => {
    const rule = RULES.find((each) => each.name === name) as (typeof RULES)[number];
    for (const profileName of ['cpu-2-cores', 'gpu-h200-cuda-x2']) {
      const profile = loadProfile(profileName);
      const scenario = { profile, pattern: poisson('half', 0.5), count: 500, seed: 7 };
      expect(simulate(scenario, rule)).toEqual(simulate(scenario, rule));
    }
  });

  it.each(RULES.map(({ name }) => name))('%s: answers everybody when there is time', (name) => {
    const rule = RULES.find((each) => each.name === name) as (typeof RULES)[number];
    for (const profileName of ['cpu-2-cores', 'gpu-h200-cuda', 'gpu-h200-cuda-x2']) {
      const profile = loadProfile(profileName);
      const scenario = { profile, pattern: poisson('some', 0.3), count: 500, seed: 3 };
      const { missed, refused, wasted } = simulate(scenario, rule);
      expect([missed, refused, wasted]).toEqual([0, 0, 0]);
    }
  });
});

describe('docs/batching.md (npm run simulate)', () => {
  const cpu = compare('cpu-2-cores');
  const waiting = compareWaiting();

  it('shows what the simulation gives', () => {
    expect(readSection('patterns')).toBe(patternList());
    expect(readSection('waiting')).toBe(details(waiting));
    // One profile stands for all: the others take longer.
    expect(readSection('simulate')).toContain(details(cpu));
  });

  it('tells the truth about the frontier on a CPU', () => {
    for (const { pattern, rows } of cpu) {
      const ours = rows.find(({ rule }) => rule === 'adaptive');
      expect(ours?.isOnFrontier, pattern.name).toBe(true);
    }
  });

  it('shows that holding back pays where arrivals are steady, and only there', () => {
    const p50 = (pattern: string, rule: string) => row(waiting, pattern, rule)?.p50Ms as number;
    const p99 = (pattern: string, rule: string) => row(waiting, pattern, rule)?.p99Ms as number;
    const without = 'adaptive, window 0';
    expect(p50('camera', 'adaptive')).toBeLessThan(0.92 * p50('camera', without));
    expect(p99('camera', 'adaptive')).toBeLessThan(0.92 * p99('camera', without));
    expect(p50('independent', 'adaptive')).toBeLessThan(1.02 * p50('independent', without));
    expect(p99('independent', 'adaptive')).toBeLessThan(1.02 * p99('independent', without));
    expect(p50('independent', 'fixed 10 ms')).toBeGreaterThan(1.2 * p50('independent', without));
  });
});

describe('the frontier', () => {
  const outcome = (usefulPerSecond: number, p50Ms: number, p99Ms: number): Outcome => ({
    ...{ usefulPerSecond, p50Ms, p99Ms },
    ...{ meanBatch: 1, wasted: 0, refused: 0, missed: 0 },
  });

  it('leaves out who is worse in one respect and better in none', () => {
    const best = outcome(100, 10, 20);
    expect(frontier([best, outcome(100, 10, 21)])).toEqual([true, false]);
    expect(frontier([best, outcome(100, 9, 21)])).toEqual([true, true]);
    expect(frontier([best, outcome(0, Infinity, Infinity)])).toEqual([true, false]);
  });

  it('does not count small differences', () => {
    expect(frontier([outcome(100, 10, 20), outcome(99, 10.1, 20.2)])).toEqual([true, true]);
  });
});

describe('the line of best fit', () => {
  it('goes through points on a line', () => {
    const { slope, base } = fitLine([
      [1, 5],
      [2, 7],
      [4, 11],
    ]);
    expect(slope).toBeCloseTo(2);
    expect(base).toBeCloseTo(3);
  });

  it('is the shortest solution when all batches have one size', () => {
    const { slope, base } = fitLine([
      [2, 10],
      [2, 10],
    ]);
    expect(2 * slope + base).toBeCloseTo(10);
    expect(slope).toBeCloseTo(4);
  });
});
