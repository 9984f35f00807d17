import type { Item } from './rule.js';

export interface Outcome {
  /** Answers within the deadline, per second. */
  readonly usefulPerSecond: number;
  /** Of those answers; infinite when there are none. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly meanBatch: number;
  /** Share of the computing whose answer nobody was waiting for any more. */
  readonly wasted: number;
  /** Share of the items that were turned away at once. */
  readonly refused: number;
  /** Share of the items that were taken, but not answered in time. */
  readonly missed: number;
}

/** Counts what happens to the items. */
export class Tally {
  #fromMs = 0;
  #untilMs = 0;
  #arrived = 0;
  #refused = 0;
  #batches = 0;
  #batchItems = 0;
  #computedMs = 0;
  #wastedMs = 0;
  readonly #latencies: number[] = [];

  /** Only what arrives in between counts. */
  count(fromMs: number, untilMs: number): void {
    this.#fromMs = fromMs;
    this.#untilMs = untilMs;
  }

  arrived({ arrivedAt }: Item): void {
    if (this.#counts(arrivedAt)) this.#arrived++;
  }

  dropped({ arrivedAt }: Item, now: number): void {
    if (this.#counts(arrivedAt) && now === arrivedAt) this.#refused++;
  }

  ran(batch: readonly Item[], now: number, tookMs: number): void {
    if (now < this.#fromMs) return;
    this.#batches++;
    this.#batchItems += batch.length;
    this.#computedMs += tookMs;
    for (const { arrivedAt, deadline } of batch) {
      if (now > deadline) this.#wastedMs += tookMs / batch.length;
      else if (this.#counts(arrivedAt)) this.#latencies.push(now - arrivedAt);
    }
  }

  outcome(): Outcome {
    const sorted = Float64Array.from(this.#latencies).sort();
    const at = (share: number): number =>
      sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Infinity;
    return {
      usefulPerSecond: (sorted.length * 1000) / (this.#untilMs - this.#fromMs),
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      meanBatch: this.#batchItems / this.#batches,
      wasted: this.#wastedMs / this.#computedMs,
      refused: this.#refused / this.#arrived,
      missed: (this.#arrived - this.#refused - sorted.length) / this.#arrived,
    };
  }

  #counts(arrivedAt: number): boolean {
    return arrivedAt >= this.#fromMs && arrivedAt <= this.#untilMs;
  }
}
