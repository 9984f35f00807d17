/** How much one completion counts: the rate follows the last few dozen. */
const SMOOTHING = 0.1;

/** Estimates how many requests leave per second, from the time between completions. */
export class DrainRate {
  #lastAt: number | undefined;
  #intervalMs: number | undefined;

  /** @param wasBusy whether others were waiting: idle time between requests says nothing */
  completed(now: number, wasBusy: boolean): void {
    if (this.#lastAt !== undefined && wasBusy) {
      const interval = now - this.#lastAt;
      this.#intervalMs =
        this.#intervalMs === undefined
          ? interval
          : this.#intervalMs + SMOOTHING * (interval - this.#intervalMs);
    }
    this.#lastAt = now;
  }

  /** Whole seconds until `count` requests are done, between 1 and 60. */
  secondsFor(count: number): number {
    const ms = count * (this.#intervalMs ?? 0);
    return Math.min(60, Math.max(1, Math.ceil(ms / 1000)));
  }
}
