import { createHmac } from 'node:crypto';
import type { Config } from '../../config/schema.js';
import { isFinal, type JobRecord } from '../job.js';
import { viewJob } from '../job-view.js';

/** What a receiver is told, the same in every attempt. */
export interface Message {
  readonly id: string;
  readonly body: Buffer;
}

/** Who signs for whom. */
export type SecretSettings = Pick<Config, 'webhook_secrets' | 'tenants'>;

/** @throws for a job that has not ended */
export function writeMessage(job: JobRecord): Message {
  const { state, finishedAt } = job;
  if (!isFinal(state) || finishedAt === undefined) throw new Error('the job has not ended');
  // Its attempts are the only thing that differs between them.
  const data = { ...viewJob(job, finishedAt), webhook: undefined };
  const timestamp = new Date(finishedAt).toISOString();
  return {
    // A job that was queued again ends once more, and receivers drop ids that they have seen.
    id: `msg_${job.id.replace(/^job_/, '')}_${finishedAt.toString(36)}`,
    body: Buffer.from(JSON.stringify({ type: `job.${state}`, timestamp, data })),
  };
}

/** The headers of Standard Webhooks: one signature per secret, so that secrets can be changed. */
export function signatureHeaders(
  { id, body }: Message,
  secrets: readonly string[],
  now: number,
): Record<`webhook-${'id' | 'timestamp' | 'signature'}`, string> {
  const timestamp = String(Math.floor(now / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body);
    return `v1,${hmac.digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}

/** A tenant with a secret of its own has only that one: others know the common ones. */
export function secretsOf(settings: SecretSettings, owner: string): readonly string[] {
  const tenant = settings.tenants.find(({ name }) => owner === `tenant:${name}`);
  return tenant?.webhook_secret === undefined ? settings.webhook_secrets : [tenant.webhook_secret];
}
