/** Maps values to [0, 1]. */
export interface Scale {
  readonly low: number;
  readonly high: number;
  at(value: number): number;
}

/** Room on both sides, so that no dot lies on an axis. */
const MARGIN = 0.06;

/** For throughput: plans differ by little, so it need not begin at 0. */
export function linearScale(values: readonly number[]): Scale {
  const { min, max } = extent(values);
  const spread = Math.max((max - min) * MARGIN, max * 0.01, 1e-9);
  const [low, high] = [Math.max(0, min - spread), max + spread];
  return { low, high, at: (value) => (value - low) / (high - low) };
}

/** For latency, which spreads over orders of magnitude. */
export function logScale(values: readonly number[]): Scale {
  const { min, max } = extent(values);
  const lowest = Math.max(min, 1e-3);
  const spread = Math.max(max / lowest, 1.1) ** MARGIN;
  const [low, high] = [lowest / spread, Math.max(max, lowest) * spread];
  const range = Math.log(high / low);
  return { low, high, at: (value) => Math.log(Math.max(value, low) / low) / range };
}

/** Round values within a scale, a few of them. */
export function ticksOf({ low, high }: Scale, kind: 'linear' | 'log'): number[] {
  if (kind === 'log' && high / low > 5) {
    const steps = [1, 2, 5];
    const ticks: number[] = [];
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
      for (const step of steps) ticks.push(round(step * 10 ** power));
    }
    return ticks.filter((tick) => tick >= low && tick <= high);
  }
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((one) => one * power >= rough) ?? 10) * power;
  const count = Math.floor((high - low) / step) + 1;
  const first = Math.ceil(low / step);
  return Array.from({ length: count }, (_, at) => round((first + at) * step)).filter(
    (tick) => tick <= high,
  );
}

function extent(values: readonly number[]): { min: number; max: number } {
  if (values.length === 0) return { min: 0, max: 1 };
  return { min: Math.min(...values), max: Math.max(...values) };
}

function round(value: number): number {
  return Number(value.toPrecision(6));
}
