/** How long it holds the first time; each time that it is hit again, twice as long. */
const HOLD_MS = 10 * 60_000;
const MAX_HOLD_MS = 4 * 3_600_000;

/**
 * The largest batch that fits into memory. Whoever took the memory may leave, so larger ones are
 * tried again after a while, and ever more rarely as long as that fails.
 */
export class MemoryCeiling {
  readonly #planned: number;
  #size: number;
  #holdMs = HOLD_MS;
  #until = Infinity;

  constructor(planned: number) {
    this.#planned = planned;
    this.#size = planned;
  }

  maxBatch(now: number): number {
    if (now >= this.#until) {
      this.#size = this.#planned;
      this.#until = Infinity;
    }
    return this.#size;
  }

  /** More than these did not fit. */
  hit(fits: number, now: number): void {
    this.#size = Math.max(1, Math.min(this.#size, fits));
    if (this.#size === this.#planned) return;
    this.#until = now + this.#holdMs;
    this.#holdMs = Math.min(2 * this.#holdMs, MAX_HOLD_MS);
  }
}
