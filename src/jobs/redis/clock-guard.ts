import type { Log } from '../../telemetry/log.js';
import type { Link } from './link.js';

/** Less is what expiry and retention tolerate. Leases are kept by Redis' own clock. */
const MAX_SKEW_MS = 30_000;

/**
 * How far this machine's clock is from Redis', at least: the answer was written some time between
 * the question and its arrival.
 */
export function skewOf(redisMs: number, askedAt: number, answeredAt: number): number {
  if (redisMs < askedAt) return askedAt - redisMs;
  return redisMs > answeredAt ? answeredAt - redisMs : 0;
}

/**
 * Compares this machine's clock with that of Redis, which all processes have in common. One that is
 * far ahead would expire the jobs of everybody and remove their results.
 */
export class ClockGuard {
  readonly #link: Pick<Link, 'call'>;
  readonly #log: Log;
  readonly #listeners = new Set<() => void>();
  #skewMs = 0;

  constructor(link: Pick<Link, 'call'>, log: Log) {
    this.#link = link;
    this.#log = log;
  }

  get isRight(): boolean {
    return Math.abs(this.#skewMs) <= MAX_SKEW_MS;
  }

  /** For people, while it is not right. */
  get detail(): string {
    const seconds = String(Math.round(Math.abs(this.#skewMs) / 1000));
    const direction = this.#skewMs > 0 ? 'ahead of' : 'behind';
    return `The clock of this machine is ${seconds} s ${direction} that of Redis.`;
  }

  /** Calls when it goes wrong and when it is right again, until what it returns is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Looks, and says whether it is right. @throws `store_unavailable` */
  async check(): Promise<boolean> {
    const askedAt = Date.now();
    const [seconds, micros] = await this.#link.call((client) => client.time());
    const redisMs = Number(seconds) * 1000 + Number(micros) / 1000;
    const wasRight = this.isRight;
    // Redis counts microseconds, and the clock here shows whole milliseconds.
    this.#skewMs = skewOf(redisMs, askedAt, Date.now() + 1);
    if (this.isRight !== wasRight) this.#tell();
    return this.isRight;
  }

  #tell(): void {
    if (this.isRight) this.#log.info('the clocks of this machine and of Redis agree again');
    else this.#log.error(`${this.detail} No jobs are run or removed here until they agree.`);
    for (const listener of this.#listeners) listener();
  }
}
