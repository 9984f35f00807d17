/** The shortest wait there is. A shorter one could be lost in rounding, and time would stand still. */
const RESOLUTION_MS = 1e-6;

interface Timer {
  readonly at: number;
  /** Timers of the same instant go off in the order in which they were set. */
  readonly order: number;
  callback: (() => void) | undefined;
}

/** Simulated time: jumps from one timer to the next. A binary heap holds them. */
export class Clock {
  #now = 0;
  #count = 0;
  #steps = 0;
  readonly #heap: Timer[] = [];

  get now(): number {
    return this.#now;
  }

  /** How many timers have gone off. */
  get steps(): number {
    return this.#steps;
  }

  /** Calls back once; returns a function that calls it off. */
  after(ms: number, callback: () => void): () => void {
    const waitMs = ms > 0 ? Math.max(ms, RESOLUTION_MS) : 0;
    const timer: Timer = { at: this.#now + waitMs, order: this.#count++, callback };
    this.#rise(timer);
    return () => {
      timer.callback = undefined;
    };
  }

  /** Goes on until nothing is left to do or the time is over. */
  run(untilMs = Number.POSITIVE_INFINITY): void {
    for (;;) {
      const [first] = this.#heap;
      if (first === undefined || first.at > untilMs) return;
      this.#removeFirst();
      if (first.callback === undefined) continue;
      this.#now = first.at;
      this.#steps++;
      first.callback();
    }
  }

  #rise(timer: Timer): void {
    const heap = this.#heap;
    let index = heap.length;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above] as Timer;
      if (isBefore(parent, timer)) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = timer;
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let below = 2 * index + 1;
      if (below >= heap.length) break;
      const right = heap[below + 1];
      if (right !== undefined && isBefore(right, heap[below] as Timer)) below++;
      const child = heap[below] as Timer;
      if (isBefore(last, child)) break;
      heap[index] = child;
      index = below;
    }
    heap[index] = last;
  }
}

function isBefore(one: Timer, other: Timer): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}
