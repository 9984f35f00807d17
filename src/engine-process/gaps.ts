/** What to expect from holding items back for a while. */
export interface Prospect {
  /** The wait ends after this long, whatever happens. */
  readonly withinMs: number;
  /** How likely it is that somebody comes by then. */
  readonly chance: number;
  /** How long it takes those who come by then, on average. */
  readonly comesMs: number;
  /** How long the wait lasts on average: until somebody comes, or to the end. */
  readonly lastsMs: number;
}

/** Buckets grow by a quarter, from this to over a second. */
const FIRST_MS = 0.1;
const GROWTH = 1.25;
const BUCKETS = 44;
/** What a gap counts when the next one comes: the last hundred or so make the picture. */
const FADING = 0.99;
/** Counts as having seen this many more gaps with no end: what is rare is not trusted. */
const DOUBT = 2;

const EDGES: readonly number[] = Array.from({ length: BUCKETS }, (_, index) => {
  return FIRST_MS * GROWTH ** index;
});

/**
 * How long the pauses between arrivals lately were. An average would not do: of clients that come
 * in clumps, of frames of a camera and of independent clients it can be the same, but only of the
 * first two one can tell when the next one comes.
 */
export class GapHistogram {
  /** How many gaps ended between the edge before and this one; the last: beyond all of them. */
  readonly #counts = new Float64Array(BUCKETS + 1);

  add(gapMs: number): void {
    for (let index = 0; index <= BUCKETS; index++)
      this.#counts[index] = this.#count(index) * FADING;
    const found = EDGES.findIndex((edge) => gapMs <= edge);
    const bucket = found < 0 ? BUCKETS : found;
    this.#counts[bucket] = this.#count(bucket) + 1;
  }

  /**
   * @param silenceMs how long nobody has come
   * @param maxMs longer waits are of no interest
   */
  after(silenceMs: number, maxMs: number): Prospect[] {
    const all = this.#beyond(silenceMs) + DOUBT;
    const prospects: Prospect[] = [];
    let came = 0;
    let sumMs = 0;
    for (let index = 0; index < BUCKETS; index++) {
      const end = EDGES[index] as number;
      const withinMs = end - silenceMs;
      if (withinMs <= 0) continue;
      if (withinMs > maxMs) break;
      const start = Math.max(silenceMs, EDGES[index - 1] ?? 0);
      const count = this.#share(index, start);
      came += count;
      sumMs += count * ((start + end) / 2 - silenceMs);
      if (came === 0) continue;
      const chance = came / all;
      const comesMs = sumMs / came;
      const lastsMs = chance * comesMs + (1 - chance) * withinMs;
      prospects.push({ withinMs, chance, comesMs, lastsMs });
    }
    return prospects;
  }

  #beyond(silenceMs: number): number {
    let sum = this.#count(BUCKETS);
    for (let index = 0; index < BUCKETS; index++) sum += this.#share(index, silenceMs);
    return sum;
  }

  /** What of a bucket lies after `fromMs`. */
  #share(index: number, fromMs: number): number {
    const end = EDGES[index] as number;
    const start = EDGES[index - 1] ?? 0;
    if (end <= fromMs) return 0;
    return (this.#count(index) * (end - Math.max(start, fromMs))) / (end - start);
  }

  #count(index: number): number {
    return this.#counts[index] as number;
  }
}
