/** How long a batch of this size takes. */
export interface CurvePoint {
  readonly batch: number;
  readonly ms: number;
}

/** Measured latency by batch size, smallest batch first. */
export type Curve = readonly CurvePoint[];

/** The latency of any batch size: between measured sizes on a line, beyond the last in proportion. */
export function latencyMs(curve: Curve, batch: number): number {
  let before: CurvePoint | undefined;
  for (const point of curve) {
    if (point.batch === batch) return point.ms;
    if (point.batch > batch) {
      if (before === undefined) return point.ms;
      const share = (batch - before.batch) / (point.batch - before.batch);
      return before.ms + share * (point.ms - before.ms);
    }
    before = point;
  }
  return before === undefined ? Number.NaN : (before.ms * batch) / before.batch;
}

/** Images per second of one session that runs batches of this size without a pause. */
export function imagesPerSecond({ batch, ms }: CurvePoint): number {
  return (batch * 1000) / ms;
}
