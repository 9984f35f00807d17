import { ShoalError } from '../errors.js';
import type { Flow } from './fair-queue.js';

export interface TenantLimits extends Flow {
  /** Whose jobs are whose; stays the same when keys are added or change their order. */
  readonly owner: string;
  /** Requests per second; 0 for no limit. */
  readonly rate: number;
  /** Requests in work at once; 0 for no limit. */
  readonly concurrency: number;
  /** The share of a queue that it may fill. */
  readonly queueShare: number;
  /** Whether its requests are background work unless they say otherwise. */
  readonly isBackground: boolean;
}

/** Whoever has one API key. Its limits hold over all models. */
export class Tenant implements Flow {
  readonly name: string;
  readonly owner: string;
  readonly weight: number;
  readonly queueShare: number;
  readonly isBackground: boolean;
  readonly #rate: number;
  readonly #concurrency: number;
  readonly #now: () => number;
  #tokens: number;
  #filledAt: number;
  #inWork = 0;

  constructor(limits: TenantLimits, now: () => number = () => performance.now()) {
    this.name = limits.name;
    this.owner = limits.owner;
    this.weight = limits.weight;
    this.queueShare = limits.queueShare;
    this.isBackground = limits.isBackground;
    this.#rate = limits.rate;
    this.#concurrency = limits.concurrency;
    this.#now = now;
    this.#tokens = this.#burst;
    this.#filledAt = now();
  }

  /** Whether it may send whatever it likes. */
  get isUnlimited(): boolean {
    return this.#rate === 0 && this.#concurrency === 0;
  }

  /**
   * Counts a request in; it is in work until `leave`.
   * @throws when the tenant has more than it may
   */
  enter(): void {
    if (this.#concurrency > 0 && this.#inWork >= this.#concurrency) {
      throw new ShoalError(
        'concurrency_limited',
        `This key may have ${String(this.#concurrency)} requests in work at once.`,
        { retryAfterSeconds: 1 },
      );
    }
    this.#takeToken();
    this.#inWork++;
  }

  /** Counts a request that costs little and may take long, so only its rate. @throws the same */
  pass(): void {
    this.#takeToken();
  }

  leave(): void {
    this.#inWork--;
  }

  /** A token bucket that holds what comes in one second. */
  #takeToken(): void {
    if (this.#rate === 0) return;
    const now = this.#now();
    const earned = ((now - this.#filledAt) / 1000) * this.#rate;
    this.#tokens = Math.min(this.#burst, this.#tokens + earned);
    this.#filledAt = now;
    if (this.#tokens < 1) {
      throw new ShoalError(
        'rate_limited',
        `This key may send ${String(this.#rate)} requests per second.`,
        { retryAfterSeconds: Math.ceil((1 - this.#tokens) / this.#rate) },
      );
    }
    this.#tokens--;
  }

  get #burst(): number {
    return Math.max(1, this.#rate);
  }
}
