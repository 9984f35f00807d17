import { frontier } from './frontier.js';
import { closedLoop, type Pattern, PATTERNS, poisson, regular } from './patterns.js';
import { capacity, loadProfile, type Profile } from './profile.js';
import type { Rule } from './rule.js';
import { RULES } from './rules/index.js';
import { ADAPTIVE, NEVER_WAIT } from './rules/shoal.js';
import { type Scenario, simulate } from './simulate.js';
import type { Outcome } from './tally.js';

export interface Row extends Outcome {
  readonly rule: string;
  readonly isOnFrontier: boolean;
}

export interface Result {
  readonly profile: Profile;
  readonly pattern: Pattern;
  readonly rows: readonly Row[];
}

const PROFILES = ['cpu-2-cores', 'gpu-h200-cuda', 'gpu-h200-cuda-x2'];
const SEED = 1;
const ITEMS = 12_000;
/** Long enough for an unlimited queue to become hopeless before counting begins. */
const OVERLOAD_MS = 30_000;

/** Every rule in every pattern on one profile. */
export function compare(profileName: string): Result[] {
  return PATTERNS.map((pattern) => play(scenario(profileName, pattern), RULES));
}

export function compareAll(): Result[] {
  return PROFILES.flatMap(compare);
}

/** Where holding back pays and where it does not: with and without it, beside the others. */
export function compareWaiting(): Result[] {
  const rules = [ADAPTIVE, NEVER_WAIT, ...RULES.filter((rule) => rule !== ADAPTIVE)];
  const patterns = [
    regular('camera', 8, 0.15),
    poisson('independent', 0.2),
    closedLoop('crew', 8, 2),
  ];
  return patterns.map((pattern) => play(scenario('flat-12-ms', pattern), rules));
}

function scenario(profileName: string, pattern: Pattern): Scenario {
  const profile = loadProfile(profileName);
  const count =
    pattern.name === 'overload' ? Math.round(2 * capacity(profile) * OVERLOAD_MS) : ITEMS;
  return { profile, pattern, count, seed: SEED };
}

function play(scenario: Scenario, rules: readonly Rule[]): Result {
  const outcomes = rules.map((rule) => simulate(scenario, rule));
  const isOnFrontier = frontier(outcomes);
  const rows = outcomes.map((outcome, index) => ({
    ...outcome,
    rule: (rules[index] as Rule).name,
    isOnFrontier: isOnFrontier[index] as boolean,
  }));
  return { profile: scenario.profile, pattern: scenario.pattern, rows };
}
