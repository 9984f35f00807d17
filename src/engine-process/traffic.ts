import { type Curve, latencyMs } from '../planning/curve.js';
import { GapHistogram, type Prospect } from './gaps.js';

/** How much one event counts: an average follows about the last twenty. */
const SMOOTHING = 0.1;
/** The first guess of the gap between arrivals: two that come together are not a flood yet. */
const FIRST_GAP_MS = 1000;
/** A batch far from what was expected is an accident, or a picture like no other. */
const MAX_DRIFT = 20;

/** What the policy needs to know about the recent past. The caller has the clock. */
export class Traffic {
  readonly #gaps = new GapHistogram();
  readonly #returns = new GapHistogram();
  #lastArrival: number | undefined;
  /** Set from an answer until the next arrival. */
  #lastAnswer: number | undefined;
  #gapMs = FIRST_GAP_MS;
  #gapCount = 0;
  #company = 0;
  #drift = 1;
  #perItemMs = 0;

  /** @param found how many items were in the engine when this one came */
  arrived(now: number, found: number): void {
    if (this.#lastArrival !== undefined) {
      const gap = now - this.#lastArrival;
      this.#gapCount++;
      this.#gapMs += Math.max(SMOOTHING, 1 / (this.#gapCount + 1)) * (gap - this.#gapMs);
      this.#gaps.add(gap);
    }
    if (this.#lastAnswer !== undefined) this.#returns.add(now - this.#lastAnswer);
    this.#lastAnswer = undefined;
    this.#lastArrival = now;
    this.#company = smooth(this.#company, found);
  }

  /** @param itemMs what was spent on each of its items besides inference */
  ran(curve: Curve, batch: number, inferMs: number, itemMs: number): void {
    this.#perItemMs = this.#perItemMs === 0 ? itemMs : smooth(this.#perItemMs, itemMs);
    const expected = latencyMs(curve, batch);
    if (!(expected > 0)) return;
    const ratio = Math.min(MAX_DRIFT, Math.max(1 / MAX_DRIFT, inferMs / expected));
    this.#drift = smooth(this.#drift, ratio);
  }

  /** A batch has ended: clients that ask one thing after the other will be back soon. */
  answered(now: number): void {
    this.#lastAnswer = now;
  }

  /** Falls while nobody comes. */
  arrivalsPerMs(now: number): number {
    if (this.#lastArrival === undefined || this.#gapCount === 0) return 0;
    return 1 / Math.max(this.#gapMs, now - this.#lastArrival);
  }

  /**
   * How likely the next one comes within how long: by the gaps between the last ones, and by how
   * soon somebody came after the last answers.
   * @param maxMs longer waits are of no interest
   */
  forecast(now: number, maxMs: number): readonly Prospect[] {
    if (this.#lastArrival === undefined) return [];
    const byGaps = this.#gaps.after(now - this.#lastArrival, maxMs);
    if (this.#lastAnswer === undefined) return byGaps;
    return [...byGaps, ...this.#returns.after(now - this.#lastAnswer, maxMs)];
  }

  get company(): number {
    return this.#company;
  }

  get drift(): number {
    return this.#drift;
  }

  get perItemMs(): number {
    return this.#perItemMs;
  }
}

function smooth(average: number, value: number): number {
  return average + SMOOTHING * (value - average);
}
