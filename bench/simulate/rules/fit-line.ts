export interface Line {
  readonly slope: number;
  readonly base: number;
}

/**
 * Least squares. With one size only, many lines fit: the shortest (slope, base) is taken, as
 * numpy's `lstsq` does.
 */
export function fitLine(points: readonly (readonly [x: number, y: number])[]): Line {
  const count = points.length;
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / count;
  const meanX = mean(points.map(([x]) => x));
  const meanY = mean(points.map(([, y]) => y));
  const spread = mean(points.map(([x]) => (x - meanX) ** 2));
  if (spread < 1e-9) {
    const base = meanY / (1 + meanX ** 2);
    return { slope: meanX * base, base };
  }
  const slope = mean(points.map(([x, y]) => (x - meanX) * (y - meanY))) / spread;
  return { slope, base: meanY - slope * meanX };
}
