import { Cancellation } from '../../../src/cancellation.js';
import type { JobRecord } from '../../../src/jobs/job.js';
import type { Network } from '../../../src/jobs/webhooks/dial.js';
import { type Outcome, send } from '../../../src/jobs/webhooks/send.js';
import { parseAllow } from '../../../src/jobs/webhooks/target.js';

export const SECRETS = ['one', 'two', 'own'].map(
  (name) => `whsec_${Buffer.from(name.padEnd(24, '.')).toString('base64')}`,
) as [string, string, string];

/** Long enough that no test reaches it unless it means to. */
const NEVER_MS = 60_000;

export type Conditions = Partial<Network> & {
  readonly timeoutMs?: number;
  readonly cancellation?: Cancellation;
};

/** One attempt, by default with loopback allowed. */
export function attempt(url: string, conditions: Conditions = {}): Promise<Outcome> {
  const { cancellation = new Cancellation(), ...network } = conditions;
  const parcel = { url, headers: { 'x-mark': 'yes' }, body: Buffer.from('{"a":1}') };
  return send(
    parcel,
    { allow: parseAllow(['127.0.0.1']), timeoutMs: NEVER_MS, ...network },
    cancellation,
  );
}

export function job(changes: Partial<JobRecord> = {}): JobRecord {
  return {
    id: 'job_abcdefghijklmnopqrstuvwx',
    owner: 'anonymous',
    model: 'cats',
    priority: 'normal',
    threshold: 0.5,
    imageCount: 1,
    imageBytes: 10,
    createdAt: 1_000_000,
    startedAt: 1_000_100,
    finishedAt: 1_000_130,
    expiresAt: 2_000_000,
    state: 'completed',
    version: 3,
    tries: 0,
    losses: 0,
    done: 1,
    results: [
      { detections: [{ label: 'cat', confidence: 0.9, bbox: [1, 2, 3, 4] }], inference_ms: 18 },
    ],
    ...changes,
  };
}
