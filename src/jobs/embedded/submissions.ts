import { ShoalError } from '../../errors.js';
import { type FinalState, isFinal, type JobRecord, type JobState } from '../job.js';
import { tooLargeForStore } from '../store-errors.js';
import type { JobPage, JobQuery, NewJob, StoreStats, Submission } from '../job-store.js';
import type { JobTable } from './job-table.js';
import { priorityNumber, RECORD_COLUMNS, toRecord } from './rows.js';

/** The calls of those who hand jobs in and ask about them. */

export function submit(table: JobTable, job: NewJob): Submission {
  const { database } = table;
  const known = job.idempotencyKey === undefined ? undefined : findSame(table, job);
  if (known !== undefined) return { record: known, isNew: false };

  checkOpenJobs(table);
  const bytes = table.costOf(job.imageBytes);
  if (bytes > table.limits.maxBytes) throw tooLargeForStore();
  table.makeRoom(bytes);
  const row = database.get(
    `insert into jobs (id, owner, model, priority, threshold, image_count, image_bytes, webhook_url,
       created_at, expires_at, state, version, tries, losses, done, ready_at, token,
       webhook_attempts, bytes)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'queued', 1, 0, 0, 0, 0, 0, 0, ?) returning seq`,
    job.id,
    job.owner,
    job.model,
    priorityNumber(job.priority),
    job.threshold,
    job.imageCount,
    job.imageBytes,
    job.webhookUrl ?? null,
    job.createdAt,
    job.expiresAt,
    bytes,
  );
  const seq = row?.['seq'] as number;
  for (const [place, image] of job.images.entries()) {
    database.run('insert into images (job, place, bytes) values (?, ?, ?)', seq, place, image);
  }
  if (job.idempotencyKey !== undefined) {
    const { owner, idempotencyKey, fingerprint } = job;
    database.run(
      'insert into idempotency (owner, key, fingerprint, job) values (?, ?, ?, ?)',
      owner,
      idempotencyKey,
      fingerprint,
      seq,
    );
  }
  table.noteChange(seq);
  return { record: table.describeNewest(job), isNew: true };
}

/** @throws `queue_full` */
function checkOpenJobs(table: JobTable): void {
  const { jobs } = table.totals();
  if (jobs.queued + jobs.running < table.limits.maxOpenJobs) return;
  throw new ShoalError(
    'queue_full',
    `${String(jobs.queued)} jobs wait and ${String(jobs.running)} run; no more are taken.`,
    { retryAfterSeconds: 5 },
  );
}

function findSame(table: JobTable, job: NewJob): JobRecord | undefined {
  const found = table.database.get(
    `select jobs.id, fingerprint from idempotency join jobs on jobs.seq = idempotency.job
       where idempotency.owner = ? and key = ?`,
    job.owner,
    job.idempotencyKey ?? '',
  );
  if (found === undefined) return undefined;
  if (found['fingerprint'] !== job.fingerprint) {
    throw new ShoalError(
      'idempotency_conflict',
      'This Idempotency-Key was used for a job with other images or settings.',
    );
  }
  return table.describe(found['id'] as string);
}

export function list(table: JobTable, { owner, state, limit, cursor }: JobQuery): JobPage {
  const [createdAt, seq] = parseCursor(cursor);
  const rows = table.database.all(
    listQuery(state !== undefined),
    ...[owner, createdAt, seq, ...(state === undefined ? [] : [state]), limit + 1],
  );
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    jobs: shown.map(toRecord),
    ...(rows.length > limit &&
      last !== undefined && { cursor: `${String(last['created_at'])}.${String(last['seq'])}` }),
  };
}

/** For an owner, the place before the page, perhaps a state, and how many. */
export function listQuery(hasState: boolean): string {
  return `select ${RECORD_COLUMNS} from jobs where owner = ? and (created_at, seq) < (?, ?)
    ${hasState ? 'and state = ?' : ''} order by created_at desc, seq desc limit ?`;
}

/** @throws `invalid_request` for one that does not come from here */
function parseCursor(cursor: string | undefined): [number, number] {
  if (cursor === undefined) return [Number.MAX_SAFE_INTEGER, 0];
  const [, createdAt, seq] = /^(\d{1,15})\.(\d{1,15})$/.exec(cursor) ?? [];
  if (createdAt === undefined) {
    throw new ShoalError('invalid_request', 'The cursor is not one that this server gave.');
  }
  return [Number(createdAt), Number(seq)];
}

export function cancel(table: JobTable, id: string, now: number): JobRecord | undefined {
  const row = table.find(id);
  if (row !== undefined && !isFinal(row['state'] as JobState)) table.end(row, 'cancelled', now);
  return table.describe(id);
}

export function retry(
  table: JobTable,
  id: string,
  expiresAt: number,
  now: number,
): JobRecord | undefined {
  const row = table.find(id);
  if (row === undefined) return undefined;
  const state = row['state'] as JobState;
  if (!isFinal(state) || state === 'completed') {
    throw new ShoalError('job_conflict', `The job is ${state} and cannot be queued again.`);
  }
  checkOpenJobs(table);
  table.database.run(
    `update jobs set tries = 0, losses = 0, problem = null, results = null, finished_at = null,
       expires_at = ?, bytes = ?, webhook_state = null, webhook_attempts = 0,
       webhook_reason = null, webhook_due_at = null where id = ?`,
    expiresAt,
    table.costOf(row['image_bytes'] as number),
    id,
  );
  table.requeue(row, now, {});
  return table.describe(id);
}

export function purge(table: JobTable, owner: string, states: readonly FinalState[]): number {
  const marks = states.map(() => '?').join(', ');
  return table.database.run(
    `delete from jobs where owner = ? and state in (${marks}) and finished_at is not null`,
    owner,
    ...states,
  );
}

export function stats(table: JobTable, now: number): StoreStats {
  const waiting = table.database.all(
    `select model, count(*) as count, min(iif(ready_at > 0, ready_at, created_at)) as since from jobs
       where state = 'queued' and ready_at <= ? group by model`,
    now,
  );
  const webhooks = table.database.get(
    `select count(*) as n from jobs where webhook_state = 'pending'`,
  );
  return {
    ...table.totals(),
    waiting: Object.fromEntries(
      waiting.map((row) => [
        row['model'] as string,
        { count: row['count'] as number, since: row['since'] as number },
      ]),
    ),
    webhooksPending: webhooks?.['n'] as number,
  };
}
