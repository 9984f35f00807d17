/** A rate that was tried, and whether the server kept up with it. */
export interface CapacityStep {
  readonly rate: number;
  readonly isGood: boolean;
}

export interface CapacityLimits {
  readonly startRate: number;
  readonly minRate: number;
  readonly maxRate: number;
  /** How far apart, as a share, the highest good and the lowest bad rate may stay. */
  readonly tolerance: number;
}

/** The highest good rate below the first bad one; `undefined` when there is none. */
export function capacityOf(steps: readonly CapacityStep[]): number | undefined {
  const bad = lowestBad(steps);
  const good = steps.filter(({ rate, isGood }) => isGood && rate < bad).map(({ rate }) => rate);
  return good.length === 0 ? undefined : Math.max(...good);
}

/** Doubles while all is well, then halves the gap; `undefined` when the answer is known. */
export function nextRate(
  steps: readonly CapacityStep[],
  { startRate, minRate, maxRate, tolerance }: CapacityLimits,
): number | undefined {
  if (steps.length === 0) return startRate;
  const bad = lowestBad(steps);
  const good = capacityOf(steps);
  if (good === undefined) return bad <= minRate ? undefined : Math.max(minRate, bad / 2);
  if (bad === Number.POSITIVE_INFINITY) {
    return good >= maxRate ? undefined : Math.min(maxRate, good * 2);
  }
  // The mean of the logarithms, because the gap is a ratio.
  return bad / good <= 1 + tolerance ? undefined : Math.sqrt(good * bad);
}

function lowestBad(steps: readonly CapacityStep[]): number {
  return Math.min(...steps.filter(({ isGood }) => !isGood).map(({ rate }) => rate));
}
