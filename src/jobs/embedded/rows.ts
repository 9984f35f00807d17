import {
  type ImageResult,
  JOB_PRIORITIES,
  type JobPriority,
  type JobProblem,
  type JobRecord,
  type JobState,
  type WebhookStatus,
} from '../job.js';
import type { Row } from './database.js';

/** Everything but the results, which are long and rarely wanted. */
export const RECORD_COLUMNS =
  'seq, id, owner, model, priority, threshold, image_count, image_bytes, webhook_url, created_at, ' +
  'expires_at, state, version, tries, losses, started_at, finished_at, done, problem, token, ' +
  'webhook_state, webhook_attempts, webhook_reason';

export function toRecord(row: Row): JobRecord {
  const webhookUrl = row['webhook_url'] as string | null;
  const startedAt = row['started_at'] as number | null;
  const finishedAt = row['finished_at'] as number | null;
  const problem = row['problem'] as string | null;
  const results = row['results'] as string | null | undefined;
  return {
    id: row['id'] as string,
    owner: row['owner'] as string,
    model: row['model'] as string,
    priority: JOB_PRIORITIES[row['priority'] as number] ?? 'normal',
    threshold: row['threshold'] as number,
    imageCount: row['image_count'] as number,
    imageBytes: row['image_bytes'] as number,
    ...(webhookUrl !== null && { webhookUrl }),
    createdAt: row['created_at'] as number,
    expiresAt: row['expires_at'] as number,
    state: row['state'] as JobState,
    version: row['version'] as number,
    tries: row['tries'] as number,
    losses: row['losses'] as number,
    ...(startedAt !== null && { startedAt }),
    ...(finishedAt !== null && { finishedAt }),
    done: row['done'] as number,
    ...(problem !== null && { problem: JSON.parse(problem) as JobProblem }),
    ...webhookOf(row),
    ...(typeof results === 'string' && { results: JSON.parse(results) as ImageResult[] }),
  };
}

export function priorityNumber(priority: JobPriority): number {
  return JOB_PRIORITIES.indexOf(priority);
}

function webhookOf(row: Row): { webhook?: WebhookStatus } {
  const state = row['webhook_state'] as WebhookStatus['state'] | null;
  const reason = row['webhook_reason'] as string | null;
  if (state === null) return {};
  const attempts = row['webhook_attempts'] as number;
  return { webhook: { state, attempts, ...(reason !== null && { reason }) } };
}
