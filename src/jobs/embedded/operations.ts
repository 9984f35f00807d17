import { join } from 'node:path';
import type { FinalState, JobRecord } from '../job.js';
import type {
  DeliveryVerdict,
  JobPage,
  JobQuery,
  NewJob,
  StoreStats,
  Submission,
  Verdict,
} from '../job-store.js';
import * as claims from './claims.js';
import type { Hold, Taken, TakenDeliveries } from './claims.js';
import { Database } from './database.js';
import { type Change, JobTable } from './job-table.js';
import { migrate } from './schema.js';
import type { ThreadConfig } from './thread-messages.js';
import * as submissions from './submissions.js';

/** What the store's thread can be asked for, by name. Every call is one transaction. */
export class Operations {
  readonly #table: JobTable;

  constructor({ folder, limits, isFirst }: ThreadConfig) {
    const database = new Database(databasePath(folder));
    try {
      migrate(database);
      this.#table = new JobTable(database, limits);
      // Otherwise it was the disk that failed, and whether it works again shows when it is written.
      database.transaction(() => {
        if (isFirst) claims.recover(this.#table, Date.now());
        else database.run(`update totals set jobs = jobs where state = 'queued'`);
      });
    } catch (error) {
      database.close();
      throw error;
    }
  }

  get database(): Database {
    return this.#table.database;
  }

  takeChanges(): Change[] {
    return this.#table.takeChanges();
  }

  submit(job: NewJob): Submission {
    return submissions.submit(this.#table, job);
  }

  get(id: string): JobRecord | undefined {
    return this.#table.describe(id);
  }

  list(query: JobQuery): JobPage {
    return submissions.list(this.#table, query);
  }

  cancel(id: string): JobRecord | undefined {
    return submissions.cancel(this.#table, id, Date.now());
  }

  retry(id: string, expiresAt: number): JobRecord | undefined {
    return submissions.retry(this.#table, id, expiresAt, Date.now());
  }

  purge(owner: string, states: readonly FinalState[]): number {
    return submissions.purge(this.#table, owner, states);
  }

  stats(): StoreStats {
    return submissions.stats(this.#table, Date.now());
  }

  take(model: string, count: number): Taken {
    return claims.take(this.#table, model, count, Date.now());
  }

  image(id: string, at: number): Uint8Array | undefined {
    return claims.image(this.#table, id, at);
  }

  renew(holds: readonly Hold[]): void {
    claims.renew(this.#table, holds, Date.now());
  }

  progress(hold: Hold, done: number): void {
    claims.progress(this.#table, hold, done);
  }

  settle(hold: Hold, verdict: Verdict): boolean {
    return claims.settle(this.#table, hold, verdict, Date.now());
  }

  takeDeliveries(count: number, busy: readonly string[]): TakenDeliveries {
    return claims.takeDeliveries(this.#table, count, busy, Date.now());
  }

  settleDelivery(job: Pick<JobRecord, 'id' | 'finishedAt'>, verdict: DeliveryVerdict): void {
    claims.settleDelivery(this.#table, job, verdict, Date.now());
  }

  /** @param wasStopped nobody could renew since the last call */
  sweep(wasStopped: boolean): void {
    const now = Date.now();
    if (wasStopped) claims.renewAll(this.#table, now);
    claims.sweep(this.#table, now);
  }
}

/** Asked for by name, with their arguments. */
export type OperationName = Exclude<keyof Operations, 'database' | 'takeChanges'>;

function databasePath(folder: string): string {
  return join(folder, 'jobs.sqlite');
}
