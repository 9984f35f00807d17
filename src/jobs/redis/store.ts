import type { Log } from '../../telemetry/log.js';
import type { FinalState, JobRecord } from '../job.js';
import type {
  Consumer,
  ConsumerOptions,
  CourierOptions,
  JobConsumer,
  JobPage,
  JobQuery,
  JobStore,
  NewJob,
  StoreLimits,
  StoreStats,
  Submission,
} from '../job-store.js';
import { ClockGuard } from './clock-guard.js';
import { addressOf } from './connection.js';
import { Images } from './images.js';
import { keys } from './keys.js';
import { Ledger } from './ledger.js';
import { Link, within } from './link.js';
import { MemoryGauge } from './memory-gauge.js';
import { Staff } from './staff.js';
import { Sweeper } from './sweeper.js';
import { Tickets } from './tickets.js';
import { CLOSE_MS, OPEN_MS } from './timing.js';

export interface RedisStoreOptions {
  /** `redis://` or `rediss://`, with user, password and number of the database. */
  readonly url: string;
  /** What the names of all keys begin with. */
  readonly prefix: string;
  readonly limits: StoreLimits;
  readonly log: Log;
}

/**
 * Jobs in one Redis server that any number of processes share. Our records are the truth, and each
 * change of one is one script; BullMQ dispatches.
 */
export class RedisStore implements JobStore {
  readonly kind = 'redis';
  readonly recheckMs = 2000;
  readonly place: string;
  readonly #api: Link;
  readonly #links: readonly Link[];
  readonly #hints: Link;
  readonly #prefix: string;
  readonly #images: Images;
  readonly #tickets: Tickets;
  readonly #gauge: MemoryGauge;
  readonly #clock: ClockGuard;
  readonly #ledger: Ledger;
  readonly #staff: Staff;
  readonly #sweeper: Sweeper;
  readonly #listeners = new Set<(id: string) => void>();
  #closing: Promise<void> | undefined;

  /** @param api a connection that is open */
  constructor(api: Link, { url, prefix, limits, log }: RedisStoreOptions) {
    const link = { url, prefix };
    const bulk = new Link({ ...link, name: 'images', temper: 'fast' });
    const work = new Link({ ...link, name: 'work', temper: 'patient' });
    this.place = `Redis at ${addressOf(url)}`;
    this.#api = api;
    this.#prefix = prefix;
    this.#hints = new Link({ ...link, name: 'hints', temper: 'patient' });
    this.#links = [api, bulk, work, this.#hints];
    this.#images = new Images(api, bulk, prefix);
    this.#tickets = new Tickets(api, prefix, log);
    this.#gauge = new MemoryGauge(api, prefix, limits.maxBytes);
    this.#clock = new ClockGuard(api, log);
    const shared = { tickets: this.#tickets, images: this.#images, prefix, limits, log };
    this.#ledger = new Ledger({ ...shared, link: api, gauge: this.#gauge });
    this.#staff = new Staff({ ...shared, work, clock: this.#clock });
    this.#sweeper = new Sweeper({ ...shared, link: api, clock: this.#clock });
    this.#hints.client.on('message', (_channel, id: string) => {
      this.#staff.hint(id);
      for (const listener of this.#listeners) listener(id);
    });
  }

  /** Resolves when all connections are there. */
  async ready(): Promise<void> {
    await Promise.all(this.#links.map((link) => link.open(OPEN_MS)));
    await this.#hints.client.subscribe(keys.changes(this.#prefix));
    await this.#gauge.refresh();
    await this.#clock.check();
  }

  get status(): JobStore['status'] {
    const { isUp, awayMs } = this.#api;
    const seconds = Math.ceil(awayMs / 1000);
    if (!isUp) return { isUp, detail: `Redis has been away for ${String(seconds)} s` };
    return this.#clock.isRight
      ? { isUp, detail: 'Redis answers' }
      : { isUp: false, detail: this.#clock.detail };
  }

  submit(job: NewJob): Promise<Submission> {
    return this.#ledger.submit(job);
  }

  get(id: string): Promise<JobRecord | undefined> {
    return this.#ledger.get(id);
  }

  list(query: JobQuery): Promise<JobPage> {
    return this.#ledger.list(query);
  }

  cancel(id: string): Promise<JobRecord | undefined> {
    return this.#ledger.cancel(id);
  }

  retry(id: string, expiresAt: number): Promise<JobRecord | undefined> {
    return this.#ledger.retry(id, expiresAt);
  }

  purge(owner: string, states: readonly FinalState[]): Promise<number> {
    return this.#ledger.purge(owner, states);
  }

  stats(): Promise<StoreStats> {
    return this.#ledger.stats();
  }

  onChange(listener: (id: string) => void): void {
    this.#listeners.add(listener);
  }

  consume(options: ConsumerOptions): JobConsumer {
    return this.#staff.consume(options);
  }

  deliver(options: CourierOptions): Consumer {
    return this.#staff.deliver(options);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#gauge.close();
    this.#images.close();
    this.#staff.abort();
    // What is under way may end, but not for ever.
    const settled = Promise.all([this.#sweeper.close(), this.#tickets.close()]);
    await within(CLOSE_MS, settled, () => undefined).catch(() => undefined);
    for (const link of this.#links) link.close();
  }
}
