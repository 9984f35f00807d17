import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { JobView } from '../../src/jobs/job-view.js';
import { type Call, judgeDeliveries } from './deliveries.js';
import { judge } from './judge.js';
import { type Entry, Ledger } from './ledger.js';
import { colourOf, planSubmission, type Submission, thresholdOf } from './plan.js';

/** Two pictures, the second broken. */
function submission(n: number, changes: Partial<Submission> = {}): Submission {
  const pictures = [
    { id: 8 * n, isBroken: false },
    { id: 8 * n + 1, isBroken: true },
  ];
  return { ...planSubmission(n, () => 0.99), pictures, ...changes };
}

function entry(n: number, changes: Partial<Entry> = {}): Entry {
  const ids = new Set([idOf(n)]);
  return { submission: submission(n), ids, isUncertain: false, isCancelAsked: false, ...changes };
}

function idOf(n: number): string {
  return `job_${String(n)}`;
}

function completed(n: number, changes: Partial<JobView> = {}): JobView {
  const [first] = submission(n).pictures;
  if (first === undefined) throw new Error('there is always a picture');
  const [red, green, blue] = colourOf(first);
  return {
    id: idOf(n),
    state: 'completed',
    model: 'stub',
    priority: 'normal',
    confidence_threshold: thresholdOf(n),
    progress: { done: 2, total: 2 },
    tries: 0,
    created_at: '2026-01-01T00:00:00.000Z',
    finished_at: '2026-01-01T00:01:00.000Z',
    expires_at: '2026-01-02T00:00:00.000Z',
    timings: { queued_ms: 0 },
    results: [
      {
        detections: [{ label: 'thing', confidence: 1, bbox: [red, green, blue, 255] }],
        inference_ms: 1,
      },
      { problem: problem('invalid_image') },
    ],
    ...changes,
  };
}

function problem(code: string): NonNullable<JobView['problem']> {
  return { type: 'about:blank', title: '', status: 500, detail: '', code } as never;
}

const inMinute = (seconds: number): number =>
  Date.parse(`2026-01-01T00:00:${String(seconds).padStart(2, '0')}.000Z`);

function wrongs(
  entries: readonly Entry[],
  views: readonly JobView[],
  kills: readonly number[] = [],
): readonly string[] {
  return judge({ entries, views, kills }).violations;
}

describe('the judge of jobs', () => {
  it('finds nothing where everything is as it should be', () => {
    const lost = entry(3, { ids: new Set(), isUncertain: true });
    const stored = entry(4, { ids: new Set(), isUncertain: true });
    const { violations, counts } = judge({
      entries: [entry(1), entry(2), lost, stored],
      views: [completed(1), completed(2), completed(4)],
      kills: [],
    });
    expect(violations).toEqual([]);
    expect(counts).toMatchObject({
      completed: 3,
      'unanswered, stored': 1,
      'unanswered, not stored': 1,
    });
  });

  it.each<readonly [string, readonly Entry[], readonly JobView[]]>([
    ['a job that is lost', [entry(1)], []],
    ['a job that nobody submitted', [], [completed(1)]],
    ['a job that was refused', [entry(1, { ids: new Set() })], [completed(1)]],
    ['two jobs for one submission', [entry(1)], [completed(1), completed(1, { id: 'job_x' })]],
    [
      'two answers for one submission',
      [entry(1, { ids: new Set([idOf(1), idOf(2)]) })],
      [completed(1)],
    ],
    ['a job that waits for ever', [entry(1)], [completed(1, { state: 'queued' })]],
    ['a job that expired', [entry(1)], [completed(1, { state: 'expired' })]],
    ['a job that nobody cancelled', [entry(1)], [completed(1, { state: 'cancelled' })]],
    [
      'a job that failed',
      [entry(1)],
      [completed(1, { state: 'failed', problem: problem('internal_error') })],
    ],
    ['results of another job', [entry(1)], [completed(1, completedResults(2))]],
    ['results that are missing', [entry(1)], [completed(1, { results: [] })]],
    [
      'a picture without its problem',
      [entry(1)],
      [completed(1, { results: (completed(1).results ?? []).slice(0, 1) })],
    ],
  ])('finds %s', (_, entries, views) => {
    expect(wrongs(entries, views)).not.toEqual([]);
  });

  it('lets a job be given up after five crashes, and not after four', () => {
    const view = completed(1, { state: 'failed', problem: problem('worker_lost') });
    const kills = [1, 2, 3, 4].map(inMinute);
    expect(wrongs([entry(1)], [view], kills)).toHaveLength(1);
    expect(wrongs([entry(1)], [view], [...kills, inMinute(5)])).toEqual([]);
  });

  it('lets a job be cancelled that somebody wanted to cancel', () => {
    const view = completed(1, { state: 'cancelled' });
    expect(wrongs([entry(1, { isCancelAsked: true })], [view])).toEqual([]);
  });
});

function completedResults(n: number): Pick<JobView, 'results'> {
  return { results: completed(n).results ?? [] };
}

describe('the ledger', () => {
  it.each<readonly [string, JobView]>([
    ['runs again', completed(1, { state: 'running' })],
    ['ends otherwise', completed(1, { state: 'failed' })],
    ['ends once more', completed(1, { finished_at: '2026-01-01T00:02:00.000Z' })],
    ['has other results', completed(1, completedResults(2))],
  ])('notices a job that %s after its end was seen', (_, later) => {
    const ledger = new Ledger();
    ledger.open(submission(1));
    ledger.observe(completed(1, { state: 'running' }));
    ledger.observe(completed(1));
    ledger.observe(completed(1));
    expect(ledger.violations).toEqual([]);
    ledger.observe(later);
    expect(ledger.violations).toHaveLength(1);
  });

  it('takes an answer that was asked for before the end was seen', () => {
    const ledger = new Ledger();
    ledger.open(submission(1));
    const askedAt = performance.now() - 5;
    ledger.observe(completed(1));
    ledger.observe(completed(1, { state: 'running' }), askedAt);
    expect(ledger.violations).toEqual([]);
  });

  it("notices another's job", () => {
    const ledger = new Ledger();
    const opened = ledger.open(submission(1));
    ledger.open(submission(2));
    ledger.accepted(opened, completed(2));
    expect(ledger.violations).toHaveLength(1);
  });
});

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;

function call(view: JobView, changes: Partial<Call> & { id?: string; type?: string } = {}): Call {
  const { id = 'msg_1', type = `job.${view.state}`, ...others } = changes;
  const body = JSON.stringify({ type, data: { ...view, webhook: undefined } });
  const key = Buffer.alloc(32, 1);
  const signature = createHmac('sha256', key).update(`${id}.17.${body}`).digest('base64');
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': '17',
    'webhook-signature': `v1,${signature}`,
  };
  return { headers, body, status: 200, ...others };
}

describe('the judge of webhooks', () => {
  const view = completed(1, { webhook: { state: 'delivered', attempts: 1 } });
  const wrong = (calls: readonly Call[], wanted: readonly number[] = [1], seen = view) =>
    judgeDeliveries(calls, [seen], new Set(wanted), SECRET).violations;

  it('finds nothing where it was delivered, however often', () => {
    expect(wrong([call(view, { status: 500 }), call(view), call(view)])).toEqual([]);
  });

  it.each<readonly [string, readonly Call[]]>([
    ['that nobody got', []],
    ['that nobody took', [call(view, { status: 500 }), call(view, { status: undefined })]],
    ['with two ids', [call(view), call(view, { id: 'msg_2' })]],
    ['with two contents', [call(view), call({ ...view, tries: 1 })]],
    ['with another state', [call(view, { type: 'job.failed' })]],
    ['with other content than the job', [call({ ...view, tries: 1 })]],
    ['with a wrong signature', [call(view), { ...call(view), body: '{}' }]],
    ['of no job', [call(view), call({ ...view, id: 'job_x' })]],
  ])('finds one %s', (_, calls) => {
    expect(wrong(calls)).not.toEqual([]);
  });

  it('finds one that nobody wished for, and one that is not known to be delivered', () => {
    expect(wrong([call(view)], [])).not.toEqual([]);
    const pending = completed(1, { webhook: { state: 'pending', attempts: 0 } });
    expect(wrong([call(view)], [1], pending)).not.toEqual([]);
  });
});
