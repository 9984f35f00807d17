import { JOB_PRIORITIES, type JobPriority } from './job.js';

/** At most so many at once; the others wait by priority, equal ones in the order they came. */
export class Places {
  #free: number;
  readonly #waiting: Readonly<Record<JobPriority, (() => void)[]>> = {
    high: [],
    normal: [],
    low: [],
  };

  constructor(count: number) {
    this.#free = count;
  }

  async run<T>(priority: JobPriority, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting[priority].push(resolve));
    try {
      return await work();
    } finally {
      // A place goes from hand to hand, so that nobody who comes now can take it.
      const next = this.#next();
      if (next === undefined) this.#free++;
      else next();
    }
  }

  #next(): (() => void) | undefined {
    const first = JOB_PRIORITIES.find((priority) => this.#waiting[priority].length > 0);
    return first === undefined ? undefined : this.#waiting[first].shift();
  }
}
