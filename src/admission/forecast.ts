/** How much one batch counts: an average follows about the last ten. */
const SMOOTHING = 0.1;
/** Completions are counted over at least this long before they say how fast work leaves. */
const DRAIN_WINDOW_MS = 250;
/** What was seen at full load is believed for this long. */
const DRAIN_VALID_MS = 10_000;

/**
 * Predicts when a request would be answered. How fast work can leave is known from the profile
 * before the first request, from what batches really took afterwards, and from what really left
 * while others were waiting.
 */
export class Forecast {
  #sessions = 1;
  /** Per session. */
  #itemsPerMs: number | undefined;
  #serviceMs: number | undefined;
  #drain: { since: number; count: number } | undefined;
  #drainPerMs: number | undefined;
  #drainSeenAt = Number.NEGATIVE_INFINITY;

  /** @param batch the batch that the profile expects at full load */
  setPlan(sessions: number, batch: { size: number; ms: number } | undefined): void {
    this.#sessions = sessions;
    this.#itemsPerMs = batch === undefined ? undefined : batch.size / batch.ms;
    this.#serviceMs = batch?.ms;
    this.#drainPerMs = undefined;
  }

  /** @param laneMs how long one session was busy with it */
  ran(size: number, laneMs: number): void {
    if (!(laneMs > 0)) return;
    this.#itemsPerMs = smooth(this.#itemsPerMs, size / laneMs);
    this.#serviceMs = smooth(this.#serviceMs, laneMs);
  }

  /** @param isBacklogged whether others wait: only then does the time between completions count */
  completed(now: number, isBacklogged: boolean): void {
    if (!isBacklogged) {
      this.#drain = undefined;
      return;
    }
    this.#drain ??= { since: now, count: -1 };
    this.#drain.count++;
    const elapsed = now - this.#drain.since;
    if (elapsed < DRAIN_WINDOW_MS) return;
    this.#drainPerMs = smooth(this.#drainPerMs, this.#drain.count / elapsed, 0.3);
    this.#drainSeenAt = now;
    this.#drain = { since: now, count: 0 };
  }

  /** How many can leave per millisecond; infinity as long as nothing is known. */
  ratePerMs(now: number): number {
    const rate = (this.#itemsPerMs ?? Number.POSITIVE_INFINITY) * this.#sessions;
    const isRecent = now - this.#drainSeenAt < DRAIN_VALID_MS;
    return isRecent ? Math.min(rate, this.#drainPerMs ?? rate) : rate;
  }

  /** How long a request takes once it is its turn. */
  get serviceMs(): number {
    return this.#serviceMs ?? 0;
  }

  /** How long until a request is answered that comes now and has so many others before it. */
  finishMs(now: number, ahead: number): number {
    return Math.max(this.serviceMs, (ahead + 1) / this.ratePerMs(now));
  }
}

function smooth(average: number | undefined, value: number, weight = SMOOTHING): number {
  return average === undefined ? value : average + weight * (value - average);
}
