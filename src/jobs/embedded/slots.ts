import type { JobConsumer } from '../job-store.js';

/** Where work comes from, and when there will be more. */
export interface Supply<Work> {
  take(
    count: number,
  ): Promise<{ readonly work: readonly Work[]; readonly nextAt: number | undefined }>;
  /** Never rejects. */
  run(work: Work): Promise<void>;
  onProblem(error: unknown): void;
}

/** After the store has failed. */
const PAUSE_MS = 500;

/** Keeps a number of slots filled: takes when one is free, sleeps when there is nothing. */
export class Slots<Work> implements JobConsumer {
  readonly #slots: number;
  readonly #supply: Supply<Work>;
  readonly #running = new Set<Promise<void>>();
  #isClosed = false;
  #isHeld = false;
  #isTaking: Promise<void> | undefined;
  /** Somebody called while it was taking, so what it found may be old. */
  #isStale = false;
  #timer: NodeJS.Timeout | undefined;
  movedAt = performance.now();

  constructor(slots: number, supply: Supply<Work>) {
    this.#slots = slots;
    this.#supply = supply;
    this.wake();
  }

  get active(): number {
    return this.#running.size;
  }

  /** There may be something to take. */
  wake(): void {
    this.#isStale = true;
    if (this.#isTaking !== undefined || this.#isClosed || this.#isHeld) return;
    this.#isTaking = this.#fill().finally(() => {
      this.#isTaking = undefined;
      if (this.#isStale && this.#running.size < this.#slots) this.wake();
    });
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (isHeld) return;
    this.movedAt = performance.now();
    this.wake();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#isTaking;
    await Promise.all(this.#running);
  }

  async #fill(): Promise<void> {
    this.#isStale = false;
    const free = this.#slots - this.#running.size;
    if (free <= 0) return;
    let taken;
    try {
      taken = await this.#supply.take(free);
    } catch (error) {
      this.#supply.onProblem(error);
      this.#wakeIn(PAUSE_MS);
      return;
    }
    for (const work of taken.work) this.#start(work);
    if (taken.nextAt !== undefined) this.#wakeIn(Math.max(1, taken.nextAt - Date.now()));
  }

  #start(work: Work): void {
    this.movedAt = performance.now();
    const running = this.#supply.run(work).finally(() => {
      this.#running.delete(running);
      this.movedAt = performance.now();
      this.wake();
    });
    this.#running.add(running);
  }

  #wakeIn(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    // Longer ones than this overflow and would fire at once.
    this.#timer = setTimeout(
      () => {
        this.wake();
      },
      Math.min(ms, 2 ** 31 - 1),
    );
  }
}
