import { addUp, lastingOf, type MetricValues } from '../telemetry/metrics.js';

/** Whoever counts for itself. */
export interface Counting {
  /** `undefined` when it does not answer. */
  collect(): Promise<MetricValues | undefined>;
}

/**
 * What all fronts have counted. Counters must never go down: a front that is gone or does not answer
 * counts with what it said last. What it counted after that is lost with it.
 */
export class FrontCounts {
  readonly #last = new Map<Counting, MetricValues>();
  #gone: readonly MetricValues[] = [];

  add(front: Counting): void {
    this.#last.set(front, []);
  }

  remove(front: Counting): void {
    const last = this.#last.get(front);
    if (last !== undefined && last.length > 0) this.#gone = [...this.#gone, lastingOf(last)];
    this.#last.delete(front);
  }

  async collect(): Promise<MetricValues[]> {
    const fronts = [...this.#last.keys()];
    const answers = await Promise.all(fronts.map((front) => front.collect()));
    const values = fronts.map((front, index) => {
      const answer = answers[index];
      const last = this.#last.get(front);
      // Meanwhile it may have ended, and then it is among those.
      if (last === undefined) return [];
      if (answer !== undefined) this.#last.set(front, answer);
      return answer ?? lastingOf(last);
    });
    return [...(await this.#ended()), ...values.filter(({ length }) => length > 0)];
  }

  /** As one, however many there were. */
  async #ended(): Promise<readonly MetricValues[]> {
    const before = this.#gone;
    if (before.length < 2) return before;
    const sum = await addUp(before);
    this.#gone = [sum, ...this.#gone.slice(before.length)];
    return this.#gone;
  }
}
