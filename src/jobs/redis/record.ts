import type { ImageResult, JobPriority, JobProblem, JobRecord, JobState } from '../job.js';
import type { NewJob } from '../job-store.js';
import { ownerKey, queueOf } from './keys.js';

/** What a record, its indexes and its ticket occupy beside images and results, about. */
export const RECORD_BYTES = 4096;

type Fields = Readonly<Record<string, string>>;

/** The fields of a new record and their values, one after the other. */
export function newFields(job: NewJob): string[] {
  const fields: Record<string, string> = {
    id: job.id,
    owner: job.owner,
    ownerKey: ownerKey(job.owner),
    model: job.model,
    queue: queueOf(job.model),
    priority: job.priority,
    threshold: String(job.threshold),
    imageCount: String(job.imageCount),
    imageBytes: String(job.imageBytes),
    createdAt: String(job.createdAt),
    expiresAt: String(job.expiresAt),
    fingerprint: job.fingerprint,
    state: 'queued',
    ticket: '0',
    tries: '0',
    losses: '0',
    done: '0',
    ...(job.webhookUrl !== undefined && { webhookUrl: job.webhookUrl }),
  };
  return Object.entries(fields).flat();
}

/** Fields and values, one after the other, as Redis answers. */
export function toFields(flat: readonly string[]): Fields {
  const fields: Record<string, string> = {};
  for (let at = 0; at + 1 < flat.length; at += 2) {
    fields[flat[at] as string] = flat[at + 1] as string;
  }
  return fields;
}

export function parseRecord(flat: readonly string[]): JobRecord {
  const fields = toFields(flat);
  const text = (name: string): string => fields[name] ?? '';
  const number = (name: string): number => Number(fields[name] ?? 0);
  const { webhookUrl, startedAt, finishedAt, problem, webhookState, webhookReason } = fields;
  return {
    id: text('id'),
    owner: text('owner'),
    model: text('model'),
    priority: text('priority') as JobPriority,
    threshold: number('threshold'),
    imageCount: number('imageCount'),
    imageBytes: number('imageBytes'),
    createdAt: number('createdAt'),
    expiresAt: number('expiresAt'),
    state: text('state') as JobState,
    version: number('version'),
    tries: number('tries'),
    losses: number('losses'),
    done: number('done'),
    ...(webhookUrl !== undefined && { webhookUrl }),
    ...(startedAt !== undefined && { startedAt: Number(startedAt) }),
    ...(finishedAt !== undefined && { finishedAt: Number(finishedAt) }),
    ...(problem !== undefined && { problem: JSON.parse(problem) as JobProblem }),
    ...(webhookState !== undefined && {
      webhook: {
        state: webhookState as 'pending' | 'delivered' | 'failed',
        attempts: number('webhookAttempts'),
        ...(webhookReason !== undefined && { reason: webhookReason }),
      },
    }),
  };
}

export function withResults(record: JobRecord, results: string | null): JobRecord {
  if (results === null) return record;
  return { ...record, results: JSON.parse(results) as readonly ImageResult[] };
}
