import { ShoalError } from '../../errors.js';
import type { FinalState, ImageResult, JobProblem, JobRecord, JobState } from '../job.js';
import { MAX_LOSSES, type StoreLimits } from '../job-store.js';
import type { Database, Row } from './database.js';
import { priorityNumber, RECORD_COLUMNS, toRecord } from './rows.js';

/** What a job costs besides its images and results. */
const OVERHEAD_BYTES = 1024;
/** Nobody counts further: many who ask would hold everybody up. */
const MAX_POSITION = 10_000;
/** Whatever the clock says: one that is set back would make the job wait for what was now. */
export const AT_ONCE = 0;
/** In these words, so that SQLite sees that it can use the index of them. */
const REMOVABLE = `finished_at is not null and webhook_state is not 'pending'`;
const LOST: JobProblem = {
  code: 'worker_lost',
  detail: 'The process that ran this job ended before the job did, again and again.',
};

/** A job that is not what it was before the transaction. */
export interface Change {
  readonly id: string;
  readonly model: string;
  readonly state: JobState;
  readonly token: number;
}

export interface Totals {
  readonly jobs: Readonly<Record<JobState, number>>;
  readonly bytes: number;
}

/** The table of jobs: the changes of state that exist, and nothing about who asks for them. */
export class JobTable {
  readonly database: Database;
  readonly limits: StoreLimits;
  #changes: Change[] = [];

  constructor(database: Database, limits: StoreLimits) {
    this.database = database;
    this.limits = limits;
  }

  /** What has changed since the last call. */
  takeChanges(): Change[] {
    const changes = this.#changes;
    this.#changes = [];
    return changes;
  }

  find(id: string): Row | undefined {
    return this.database.get(`select ${RECORD_COLUMNS} from jobs where id = ?`, id);
  }

  /** With its place or its results. */
  describe(id: string): JobRecord | undefined {
    const row = this.database.get(`select ${RECORD_COLUMNS}, results from jobs where id = ?`, id);
    if (row === undefined) return undefined;
    const record = toRecord(row);
    return record.state === 'queued' ? { ...record, position: this.#positionOf(row) } : record;
  }

  /** The same of the one that came last, behind all others of its priority. */
  describeNewest({ id, model, priority }: Pick<JobRecord, 'id' | 'model' | 'priority'>): JobRecord {
    const row = this.find(id) as Row;
    const waiting = this.database.get(
      'select sum(jobs) as n from waiting where model = ? and priority <= ?',
      model,
      priorityNumber(priority),
    );
    return { ...toRecord(row), position: Math.min(MAX_POSITION, (waiting?.['n'] as number) - 1) };
  }

  #positionOf(row: Row): number {
    const before = this.database.get(
      `select count(*) as n from (select 1 from jobs where state = 'queued' and model = ?
         and (priority, seq) < (?, ?) limit ?)`,
      row['model'] as string,
      row['priority'] as number,
      row['seq'] as number,
      MAX_POSITION,
    );
    return before?.['n'] as number;
  }

  /** Final, with what became of it. Whoever runs it has lost it. */
  end(
    row: Row,
    state: FinalState,
    now: number,
    { problem, results }: { problem?: JobProblem; results?: readonly ImageResult[] } = {},
  ): void {
    const seq = row['seq'] as number;
    const isCompleted = state === 'completed';
    // Of the others the images are kept, for those who want to try once more.
    if (isCompleted) this.database.run('delete from images where job = ?', seq);
    const text = results === undefined ? null : JSON.stringify(results);
    const imageBytes = isCompleted ? 0 : (row['image_bytes'] as number);
    this.database.run(
      `update jobs set state = ?, version = version + 1, token = token + 1, lease_until = null,
         finished_at = ?, problem = ?, results = ?, bytes = ?, done = iif(?, image_count, done),
         webhook_state = iif(webhook_url is null, null, 'pending'),
         webhook_due_at = iif(webhook_url is null, null, ?) where seq = ?`,
      state,
      now,
      problem === undefined ? null : JSON.stringify(problem),
      text,
      this.costOf(imageBytes) + (text === null ? 0 : Buffer.byteLength(text)),
      isCompleted ? 1 : 0,
      now,
      seq,
    );
    this.noteChange(seq);
  }

  /** Back into the queue, at the place that its age and priority give it. */
  requeue(
    row: Row,
    readyAt: number,
    { problem, tries = 0, losses = 0 }: { problem?: JobProblem; tries?: number; losses?: number },
  ): void {
    const seq = row['seq'] as number;
    this.database.run(
      `update jobs set state = 'queued', version = version + 1, token = token + 1,
         lease_until = null, started_at = null, done = 0, ready_at = ?, tries = tries + ?,
         losses = losses + ?, problem = coalesce(?, problem) where seq = ?`,
      readyAt,
      tries,
      losses,
      problem === undefined ? null : JSON.stringify(problem),
      seq,
    );
    this.noteChange(seq);
  }

  /** Whoever ran it is gone. */
  lose(row: Row, now: number): void {
    if ((row['losses'] as number) + 1 >= MAX_LOSSES)
      this.end(row, 'failed', now, { problem: LOST });
    else this.requeue(row, AT_ONCE, { losses: 1 });
  }

  noteChange(seq: number): void {
    const row = this.database.get('select id, model, state, token from jobs where seq = ?', seq);
    if (row !== undefined) this.#changes.push(row as unknown as Change);
  }

  costOf(imageBytes: number): number {
    return OVERHEAD_BYTES + imageBytes;
  }

  totals(): Totals {
    const rows = this.database.all('select state, jobs, bytes from totals');
    const jobs = Object.fromEntries(rows.map((row) => [row['state'] as JobState, row['jobs']]));
    const bytes = rows.reduce((sum, row) => sum + (row['bytes'] as number), 0);
    return { jobs: jobs as unknown as Totals['jobs'], bytes };
  }

  /**
   * Removes finished jobs, oldest first, until `neededBytes` more fit. One whose receiver has not
   * been told yet stays.
   */
  makeRoom(neededBytes: number): void {
    const { maxBytes } = this.limits;
    let used = this.totals().bytes;
    if (used + neededBytes <= maxBytes) return;
    // Nothing is removed in vain.
    if (used - this.#removable().bytes + neededBytes > maxBytes) throw noRoom();
    while (used + neededBytes > maxBytes) {
      const oldest = this.database.get(
        `select seq, bytes from jobs where ${REMOVABLE} order by finished_at, seq limit 1`,
      );
      if (oldest === undefined) throw noRoom();
      this.database.run('delete from jobs where seq = ?', oldest['seq'] as number);
      used -= oldest['bytes'] as number;
    }
  }

  #removable(): { readonly jobs: number; readonly bytes: number } {
    const row = this.database.get('select jobs, bytes from removable');
    return row as unknown as { jobs: number; bytes: number };
  }

  /** Removes finished jobs that are too old or too many; not more at once than takes a moment. */
  forget(now: number): void {
    const { keepMs, keepCount } = this.limits;
    const excess = Math.min(500, this.#removable().jobs - keepCount);
    if (excess > 0) {
      this.database.run(
        `delete from jobs where seq in (select seq from jobs where ${REMOVABLE}
           order by finished_at, seq limit ?)`,
        excess,
      );
    }
    this.database.run(
      `delete from jobs where seq in (select seq from jobs where ${REMOVABLE}
         and finished_at <= ? order by finished_at limit 500)`,
      now - keepMs,
    );
  }
}

function noRoom(): ShoalError {
  return new ShoalError('store_full', 'The jobs that wait take all the room there is.', {
    retryAfterSeconds: 5,
  });
}
