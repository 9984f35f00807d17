import { createHmac, timingSafeEqual } from 'node:crypto';
import type { JobView } from '../../src/jobs/job-view.js';
import { groupBy } from './group-by.js';
import type { Judgement } from './judge.js';
import { numberOf } from './plan.js';

/** One call that a receiver got. */
export interface Call {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** What it answered; `undefined` when it hung up. */
  readonly status: number | undefined;
}

interface Body {
  readonly type: string;
  readonly data: JobView;
}

/**
 * Whether the receivers were told what they should be: about every job at least once, always the
 * same, and signed. The signature is computed here anew, as a receiver would.
 */
export function judgeDeliveries(
  calls: readonly Call[],
  views: readonly JobView[],
  wanted: ReadonlySet<number>,
  secret: string,
): Judgement {
  const violations: string[] = [];
  const wellSigned = calls.filter((call) => isSigned(call, secret));
  if (wellSigned.length < calls.length) {
    violations.push(`${String(calls.length - wellSigned.length)} calls have a wrong signature`);
  }
  const byJob = groupBy(wellSigned, ({ body }) => (JSON.parse(body) as Body).data.id);
  let repeated = 0;
  for (const view of views) {
    const got = byJob.get(view.id) ?? [];
    byJob.delete(view.id);
    if (!wanted.has(numberOf(view.confidence_threshold))) {
      if (got.length > 0) violations.push(`${view.id}: delivered to nobody's wish`);
      continue;
    }
    repeated += Math.max(0, got.length - 1);
    violations.push(...wrongCalls(got, view).map((what) => `webhook of ${view.id}: ${what}`));
  }
  for (const id of byJob.keys()) violations.push(`webhook of ${id}: there is no such job`);
  return { violations, counts: { 'webhook calls': calls.length, 'of these repeated': repeated } };
}

function wrongCalls(got: readonly Call[], view: JobView): string[] {
  const wrong: string[] = [];
  if (!got.some(({ status }) => status === 200)) wrong.push('never delivered');
  if (view.webhook?.state !== 'delivered') wrong.push(`is ${view.webhook?.state ?? 'unknown'}`);
  if (new Set(got.map(({ headers }) => headers['webhook-id'])).size > 1) wrong.push('two ids');
  if (new Set(got.map(({ body }) => body)).size > 1) wrong.push('two contents');
  const [first] = got;
  if (first === undefined) return wrong;
  const { type, data } = JSON.parse(first.body) as Body;
  const shown = { ...view, webhook: undefined };
  if (type !== `job.${view.state}`) wrong.push(`told ${type}, is ${view.state}`);
  if (JSON.stringify(data) !== JSON.stringify(shown)) wrong.push('tells another story than GET');
  return wrong;
}

function isSigned({ headers, body }: Call, secret: string): boolean {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  const expected = Buffer.from(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  const sent = Buffer.from(String(headers['webhook-signature']));
  return sent.length === expected.length && timingSafeEqual(sent, expected);
}
