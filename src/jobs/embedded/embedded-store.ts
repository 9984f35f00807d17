import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../../config/load.js';
import { makeFolder } from '../../config/make-folder.js';
import type { Log } from '../../telemetry/log.js';
import { type FinalState, isFinal, type JobRecord } from '../job.js';
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
import { EmbeddedConsumer } from './embedded-consumer.js';
import { EmbeddedCourier } from './embedded-courier.js';
import type { Change } from './job-table.js';
import { FolderBusyError, type ThreadEvents, ThreadLink } from './thread-link.js';

export interface EmbeddedOptions {
  readonly folder: string;
  readonly limits: StoreLimits;
  readonly log: Log;
  /** The built file of the thread; workers cannot load anything else. */
  readonly entry?: URL;
}

const RESTART_MS = 1000;

/** Jobs in an SQLite database on a thread of its own, for one server. */
export class EmbeddedStore implements JobStore {
  readonly kind = 'embedded';
  readonly recheckMs = 15_000;
  readonly place: string;
  readonly #options: EmbeddedOptions;
  #link: ThreadLink;
  #isClosing = false;
  status = { isUp: true, detail: '' };
  readonly #listeners: ((id: string) => void)[] = [];
  readonly #consumers = new Set<EmbeddedConsumer>();
  readonly #couriers = new Set<EmbeddedCourier>();

  private constructor(options: EmbeddedOptions) {
    this.#options = options;
    this.place = options.folder;
    this.#link = this.#spawn(true);
  }

  /** @throws ConfigError when the folder cannot be used */
  static async open(options: EmbeddedOptions): Promise<EmbeddedStore> {
    const { folder } = options;
    try {
      await makeFolder(folder, 0o700);
    } catch (error) {
      throw unusable(folder, (error as Error).message);
    }
    const store = new EmbeddedStore(options);
    try {
      await store.#link.opened();
    } catch (error) {
      await store.close();
      if (error instanceof FolderBusyError) throw inUse(folder);
      throw unusable(folder, (error as Error).message);
    }
    // Only for the message of a second server; the lock itself is the database's.
    writeFileSync(ownerFile(folder), `${String(process.pid)}\n`);
    return store;
  }

  submit(job: NewJob): Promise<Submission> {
    return this.#link.ask('submit', job);
  }

  get(id: string): Promise<JobRecord | undefined> {
    return this.#link.ask('get', id);
  }

  list(query: JobQuery): Promise<JobPage> {
    return this.#link.ask('list', query);
  }

  cancel(id: string): Promise<JobRecord | undefined> {
    return this.#link.ask('cancel', id);
  }

  retry(id: string, expiresAt: number): Promise<JobRecord | undefined> {
    return this.#link.ask('retry', id, expiresAt);
  }

  purge(owner: string, states: readonly FinalState[]): Promise<number> {
    return this.#link.ask('purge', owner, states);
  }

  stats(): Promise<StoreStats> {
    return this.#link.ask('stats');
  }

  onChange(listener: (id: string) => void): void {
    this.#listeners.push(listener);
  }

  consume(options: ConsumerOptions): JobConsumer {
    const { leaseMs } = this.#options.limits;
    const consumer = new EmbeddedConsumer(() => this.#link, options, leaseMs, this.#complain);
    this.#consumers.add(consumer);
    return consumer;
  }

  deliver(options: CourierOptions): Consumer {
    const courier = new EmbeddedCourier(() => this.#link, options, this.#complain);
    this.#couriers.add(courier);
    return courier;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#link.end();
  }

  /** Ends at once, as a crash would. For tests. */
  async kill(): Promise<void> {
    this.#isClosing = true;
    await this.#link.kill();
  }

  #spawn(isFirst: boolean): ThreadLink {
    const { folder, limits, entry = new URL('./thread.js', import.meta.url) } = this.#options;
    const events: ThreadEvents = {
      onChanges: (changes) => {
        for (const change of changes) this.#noteChange(change);
      },
      onBroken: (cause) => {
        this.#options.log.error({ cause }, 'jobs cannot be written');
      },
      onDeath: () => {
        if (!this.#isClosing) this.#restart();
      },
    };
    return new ThreadLink(entry, { folder, limits, isFirst }, events);
  }

  #restart(): void {
    this.status = { isUp: false, detail: 'The disk that jobs are kept on fails.' };
    setTimeout(() => {
      if (this.#isClosing) return;
      this.#link = this.#spawn(false);
      this.#link.opened().then(() => {
        this.status = { isUp: true, detail: '' };
        this.#options.log.info('jobs can be written again');
        for (const consumer of [...this.#consumers, ...this.#couriers]) consumer.wake();
      }, this.#complain);
    }, RESTART_MS);
  }

  #noteChange(change: Change): void {
    for (const consumer of this.#consumers) consumer.noteChange(change);
    // The end of a job may be something to deliver.
    if (isFinal(change.state)) for (const courier of this.#couriers) courier.wake();
    for (const listener of this.#listeners) listener(change.id);
  }

  readonly #complain = (error: unknown): void => {
    if (this.#isClosing) return;
    const { message, cause } = error as Error;
    this.#options.log.warn({ reason: message, cause }, 'the job store did not answer');
  };
}

function ownerFile(folder: string): string {
  return join(folder, 'owner');
}

function inUse(folder: string): ConfigError {
  let owner = 'another server';
  try {
    owner = `process ${readFileSync(ownerFile(folder), 'utf8').trim()}`;
  } catch {
    // It is in use all the same.
  }
  return new ConfigError(
    `the data folder ${folder} is used by ${owner}; give this server its own with --data-dir, or say --queue off`,
  );
}

function unusable(folder: string, reason: string): ConfigError {
  return new ConfigError(
    `jobs cannot be kept in ${folder}: ${reason}; choose another folder with --data-dir, or say --queue off`,
  );
}
