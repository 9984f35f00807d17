import type { Cancellation } from '../cancellation.js';
import { ShoalError } from '../errors.js';
import { DrainRate } from './drain-rate.js';

export interface GateLimits {
  /** Items that may be in the engine at once. */
  readonly maxConcurrent: number;
  /** Items that may wait for that. */
  readonly maxQueue: number;
  /** Bytes of all images that wait. */
  readonly maxQueueBytes: number;
}

/**
 * A semaphore with a bounded queue in front of one model. What does not fit is refused at once,
 * with a `Retry-After` computed from how fast work is really leaving.
 */
export class Gate {
  readonly #limits: GateLimits;
  readonly #now: () => number;
  readonly #waiting = new Set<() => void>();
  readonly #drain = new DrainRate();
  #waitingBytes = 0;
  #inFlight = 0;

  constructor(limits: GateLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Throws when an item of this size would be refused; used before its body is even read. */
  check(bytes: number): void {
    if (this.#inFlight < this.#limits.maxConcurrent) return;
    const { maxQueue, maxQueueBytes } = this.#limits;
    if (this.#waiting.size < maxQueue && this.#waitingBytes + bytes <= maxQueueBytes) return;
    const ahead = this.#inFlight + this.#waiting.size;
    throw new ShoalError(
      'queue_full',
      `${String(this.#inFlight)} images are in work and ${String(this.#waiting.size)} wait; no more are taken.`,
      { retryAfterSeconds: this.#drain.secondsFor(ahead) },
    );
  }

  /**
   * Runs `work` when it is this item's turn, in order of arrival.
   * @throws when the queue is full, when it is cancelled while it waits, or what `work` throws
   */
  async run<T>(bytes: number, cancellation: Cancellation, work: () => Promise<T>): Promise<T> {
    this.check(bytes);
    if (this.#inFlight < this.#limits.maxConcurrent) this.#inFlight++;
    else await this.#waitForTurn(bytes, cancellation);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  /** Resolves with the slot of whoever left already taken over. */
  #waitForTurn(bytes: number, cancellation: Cancellation): Promise<void> {
    return new Promise((resolve, reject) => {
      const leaveQueue = (): void => {
        this.#waiting.delete(admit);
        this.#waitingBytes -= bytes;
        cancellation.listen(undefined);
      };
      const admit = (): void => {
        leaveQueue();
        resolve();
      };
      this.#waiting.add(admit);
      this.#waitingBytes += bytes;
      cancellation.listen((reason) => {
        leaveQueue();
        reject(reason);
      });
    });
  }

  #leave(): void {
    this.#drain.completed(this.#now(), this.#inFlight > 1 || this.#waiting.size > 0);
    const [next] = this.#waiting;
    if (next === undefined) this.#inFlight--;
    else next();
  }
}
