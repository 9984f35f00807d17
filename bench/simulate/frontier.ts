import type { Outcome } from './tally.js';

/** Differences below this count as none. */
const TOLERANCE = 0.02;

/** Which outcomes no other one beats: nobody is better in one respect and no worse in the others. */
export function frontier(outcomes: readonly Outcome[]): boolean[] {
  return outcomes.map((one) => !outcomes.some((other) => beats(other, one)));
}

function beats(one: Outcome, other: Outcome): boolean {
  // Larger is better in all of these.
  const pairs = [
    [one.usefulPerSecond, other.usefulPerSecond],
    [1 / one.p50Ms, 1 / other.p50Ms],
    [1 / one.p99Ms, 1 / other.p99Ms],
  ] as const;
  const isNowhereWorse = pairs.every(([a, b]) => a >= b * (1 - TOLERANCE));
  const isSomewhereBetter = pairs.some(([a, b]) => a > b * (1 + TOLERANCE));
  return isNowhereWorse && isSomewhereBetter;
}
