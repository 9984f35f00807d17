/** What a pile of durations looks like, in the unit they were given in. */
export interface Summary {
  readonly count: number;
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** `null` where there is nothing to summarize. */
export function summarize(values: ArrayLike<number>): Summary | null {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  let sum = 0;
  for (const value of sorted) sum += value;
  return {
    count: sorted.length,
    mean: sum / sorted.length,
    p50: percentileOf(sorted, 50),
    p90: percentileOf(sorted, 90),
    p95: percentileOf(sorted, 95),
    p99: percentileOf(sorted, 99),
    max: sorted.at(-1) as number,
  };
}

/** The smallest value that at least `p` percent do not exceed, so always one that was measured. */
export function percentileOf(sorted: ArrayLike<number>, p: number): number {
  const rank = Math.ceil((p / 100) * sorted.length);
  return sorted[Math.min(sorted.length, Math.max(1, rank)) - 1] ?? Number.NaN;
}

export interface Bin {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/**
 * Bins whose limits grow by a constant factor, because latencies spread over orders of magnitude.
 * They cover the smallest to the largest value.
 */
export function logBins(values: ArrayLike<number>, count: number): Bin[] {
  if (values.length === 0) return [];
  const sorted = Float64Array.from(values).sort();
  const low = Math.max(sorted[0] as number, 1e-3);
  const high = Math.max(sorted.at(-1) as number, low);
  const bins = high / low < 1.001 ? 1 : count;
  const step = (high / low) ** (1 / bins);
  const counts = new Array<number>(bins).fill(0);
  for (const value of sorted) {
    const at = bins === 1 ? 0 : Math.floor(Math.log(Math.max(value, low) / low) / Math.log(step));
    const bin = Math.min(at, bins - 1);
    counts[bin] = (counts[bin] as number) + 1;
  }
  return counts.map((inBin, at) => ({
    from: low * step ** at,
    to: low * step ** (at + 1),
    count: inBin,
  }));
}
