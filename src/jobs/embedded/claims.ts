import type { ImageResult, JobRecord } from '../job.js';
import type { Delivery, DeliveryVerdict, Verdict } from '../job-store.js';
import type { Row } from './database.js';
import { AT_ONCE, type JobTable } from './job-table.js';
import { RECORD_COLUMNS, toRecord } from './rows.js';

/** The calls of those who run jobs and deliver their results. */

export interface TakenJob {
  readonly job: JobRecord;
  /** Must come back with whatever is said about the job. */
  readonly token: number;
}

export interface Taken {
  readonly jobs: readonly TakenJob[];
  /** When another one that waits for its next try can be taken. */
  readonly nextAt: number | undefined;
}

export function take(table: JobTable, model: string, count: number, now: number): Taken {
  const { database, limits } = table;
  const rows = database.all(
    `select seq from jobs where model = ? and state = 'queued' and ready_at <= ?
       and expires_at > ? order by priority, seq limit ?`,
    model,
    now,
    now,
    count,
  );
  const jobs = rows.map((row) => {
    const seq = row['seq'] as number;
    database.run(
      `update jobs set state = 'running', version = version + 1, token = token + 1,
         lease_until = ?, started_at = ?, done = 0 where seq = ?`,
      now + limits.leaseMs,
      now,
      seq,
    );
    table.noteChange(seq);
    const taken = database.get(`select ${RECORD_COLUMNS} from jobs where seq = ?`, seq) as Row;
    return { job: toRecord(taken), token: taken['token'] as number };
  });
  return { jobs, nextAt: nextReadyAt(table, model, now) };
}

function nextReadyAt(table: JobTable, model: string, now: number): number | undefined {
  const next = table.database.get(
    `select min(ready_at) as at from jobs
       where model = ? and state = 'queued' and ready_at > 0 and ready_at > ?`,
    model,
    now,
  );
  return (next?.['at'] as number | null) ?? undefined;
}

export function image(table: JobTable, id: string, at: number): Uint8Array | undefined {
  const row = table.database.get(
    `select images.bytes from images join jobs on jobs.seq = images.job where jobs.id = ? and place = ?`,
    id,
    at,
  );
  return row?.['bytes'] as Uint8Array | undefined;
}

export interface Hold {
  readonly id: string;
  readonly token: number;
}

/** What was lost says so by a change of its token, which its holder is told. */
export function renew(table: JobTable, holds: readonly Hold[], now: number): void {
  for (const { id, token } of holds) {
    table.database.run(
      `update jobs set lease_until = ? where id = ? and token = ? and state = 'running'`,
      now + table.limits.leaseMs,
      id,
      token,
    );
  }
}

/**
 * Whether the process itself was stopped since the last look: then nobody could renew anything, and
 * that says nothing about those who run jobs. Short of that, a renewal still comes in time.
 */
export function wasStopped(sinceMs: number, everyMs: number, leaseMs: number): boolean {
  return sinceMs > everyMs + leaseMs / 3;
}

/** Whoever is there goes on to renew by itself. */
export function renewAll(table: JobTable, now: number): void {
  const leaseUntil = now + table.limits.leaseMs;
  table.database.run(`update jobs set lease_until = ? where state = 'running'`, leaseUntil);
}

export function progress(table: JobTable, { id, token }: Hold, done: number): void {
  const row = held(table, { id, token });
  if (row === undefined) return;
  const seq = row['seq'] as number;
  table.database.run('update jobs set done = ?, version = version + 1 where seq = ?', done, seq);
  table.noteChange(seq);
}

/** @returns whether the verdict counts; not when the job was taken away meanwhile */
export function settle(table: JobTable, hold: Hold, verdict: Verdict, now: number): boolean {
  const row = held(table, hold);
  if (row === undefined) return false;
  switch (verdict.kind) {
    case 'completed':
      table.end(row, 'completed', now, { results: verdict.results });
      break;
    case 'failed': {
      const { problem, results } = verdict;
      table.end(row, 'failed', now, { problem, ...withResults(results) });
      break;
    }
    case 'retry': {
      const { problem, delayMs, isBlamed } = verdict;
      table.requeue(row, now + Math.round(delayMs), { problem, tries: isBlamed ? 1 : 0 });
      break;
    }
    case 'released':
      table.requeue(row, AT_ONCE, {});
      break;
  }
  return true;
}

function withResults(results: readonly ImageResult[] | undefined): {
  results?: readonly ImageResult[];
} {
  return results === undefined ? {} : { results };
}

function held(table: JobTable, { id, token }: Hold): Row | undefined {
  const row = table.find(id);
  return row?.['token'] === token && row['state'] === 'running' ? row : undefined;
}

/** At the start: whoever ran these is gone, since only one process has this database. */
export function recover(table: JobTable, now: number): number {
  const rows = table.database.all(`select ${RECORD_COLUMNS} from jobs where state = 'running'`);
  for (const row of rows) table.lose(row, now);
  return rows.length;
}

/** Ends what has expired, takes back what was not renewed, forgets what is old. */
export function sweep(table: JobTable, now: number): void {
  const select = `select ${RECORD_COLUMNS} from jobs where`;
  for (const row of table.database.all(
    `${select} state in ('queued', 'running') and expires_at <= ? limit 1000`,
    now,
  )) {
    table.end(row, 'expired', now);
  }
  for (const row of table.database.all(`${select} state = 'running' and lease_until <= ?`, now)) {
    table.lose(row, now);
  }
  table.forget(now);
  // Gives a little of what was freed back to the disk, without holding anybody up.
  table.database.all('pragma incremental_vacuum(256)');
}

export interface TakenDeliveries {
  readonly deliveries: readonly Delivery[];
  readonly nextAt: number | undefined;
}

/** @param busy jobs whose delivery is being tried, which no crash can leave behind */
export function takeDeliveries(
  table: JobTable,
  count: number,
  busy: readonly string[],
  now: number,
): TakenDeliveries {
  const marks = busy.map(() => '?').join(', ');
  const pending = `webhook_state = 'pending' and id not in (${marks})`;
  const due = table.database.all(
    `select ${RECORD_COLUMNS}, results from jobs where ${pending} and webhook_due_at <= ?
       order by webhook_due_at limit ?`,
    ...busy,
    now,
    count,
  );
  const next = table.database.get(
    `select min(webhook_due_at) as at from jobs where ${pending} and webhook_due_at > ?`,
    ...busy,
    now,
  );
  return {
    deliveries: due.map((row) => ({
      job: toRecord(row),
      webhookUrl: row['webhook_url'] as string,
      attempt: (row['webhook_attempts'] as number) + 1,
    })),
    // Those that are due and did not fit are taken when a place is free.
    nextAt: (next?.['at'] as number | null) ?? undefined,
  };
}

export function settleDelivery(
  table: JobTable,
  { id, finishedAt }: Pick<JobRecord, 'id' | 'finishedAt'>,
  verdict: DeliveryVerdict,
  now: number,
): void {
  const row = table.find(id);
  // The job may have been queued again meanwhile, and even have ended again.
  if (row?.['finished_at'] !== finishedAt || row?.['webhook_state'] !== 'pending') return;
  if (verdict.kind === 'released') return;
  const seq = row['seq'] as number;
  if (verdict.kind === 'retry' && !verdict.isCounted) {
    // Only put off: there is nothing that a reader could see.
    const dueAt = now + Math.round(verdict.delayMs);
    table.database.run('update jobs set webhook_due_at = ? where seq = ?', dueAt, seq);
    return;
  }
  const state = { delivered: 'delivered', retry: 'pending', abandoned: 'failed' }[verdict.kind];
  table.database.run(
    `update jobs set webhook_state = ?, webhook_attempts = webhook_attempts + ?,
       webhook_reason = ?, webhook_due_at = ?, version = version + 1 where seq = ?`,
    state,
    1,
    verdict.kind === 'delivered' ? null : verdict.reason,
    verdict.kind === 'retry' ? now + Math.round(verdict.delayMs) : null,
    seq,
  );
  table.noteChange(seq);
}
