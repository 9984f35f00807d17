import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Operations } from '../../../src/jobs/embedded/operations.js';
import { JOB_PRIORITIES, type JobPriority } from '../../../src/jobs/job.js';
import type { DeliveryVerdict, Verdict } from '../../../src/jobs/job-store.js';
import { DONE, LIMITS, newJob } from '../../helpers/jobs.js';

const problem = { code: 'model_failed', detail: '' } as const;
const VERDICTS: readonly Verdict[] = [
  DONE,
  { kind: 'failed', problem },
  { kind: 'retry', problem, delayMs: 0, isBlamed: true },
  { kind: 'released' },
];
const DELIVERY_VERDICTS: readonly DeliveryVerdict[] = [
  { kind: 'delivered' },
  { kind: 'abandoned', reason: 'gone' },
  { kind: 'retry', delayMs: 0, reason: 'busy', isCounted: true },
];

type Step =
  | {
      readonly kind: 'submit';
      readonly model: string;
      readonly priority: JobPriority;
      readonly hasWebhook: boolean;
    }
  | { readonly kind: 'run'; readonly model: string; readonly verdict: Verdict | undefined }
  | { readonly kind: 'cancel' | 'retry'; readonly which: number }
  | { readonly kind: 'deliver'; readonly verdict: DeliveryVerdict }
  | { readonly kind: 'purge' };

const model = fc.constantFrom('m', 'n');
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('submit' as const),
      model,
      priority: fc.constantFrom(...JOB_PRIORITIES),
      hasWebhook: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('run' as const),
      model,
      verdict: fc.constantFrom(...VERDICTS, undefined),
    }),
  },
  fc.record({ kind: fc.constantFrom('cancel' as const, 'retry' as const), which: fc.nat(20) }),
  fc.record({
    kind: fc.constant('deliver' as const),
    verdict: fc.constantFrom(...DELIVERY_VERDICTS),
  }),
  fc.record({ kind: fc.constant('purge' as const) }),
);

describe('what the embedded store knows about those that wait or may be removed', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'shoal-waiting-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it('is what counting them would say, whatever has happened', () => {
    const operations = new Operations({ folder, limits: LIMITS, isFirst: true });
    const { database } = operations;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        database.script('begin; delete from jobs');
        const ids: string[] = [];
        for (const one of steps) play(operations, ids, one);
        const counted = database.all(
          `select model, priority, count(*) as jobs from jobs where state = 'queued'
             group by model, priority order by model, priority`,
        );
        const kept = database.all('select * from waiting where jobs > 0 order by model, priority');
        const countedRemovable = database.all(
          `select count(*) as jobs, coalesce(sum(bytes), 0) as bytes from jobs
             where finished_at is not null and webhook_state is not 'pending'`,
        );
        const keptRemovable = database.all('select * from removable');
        database.script('rollback');
        expect(kept).toEqual(counted);
        expect(keptRemovable).toEqual(countedRemovable);
      }),
    );
    database.close();
  });
});

/** A submission is told its place at once; asking for it must give the same. */
function play(operations: Operations, ids: string[], one: Step): void {
  switch (one.kind) {
    case 'submit': {
      const { record } = operations.submit(
        newJob({
          ...{ model: one.model, priority: one.priority },
          ...(one.hasWebhook && { webhookUrl: 'https://receiver.example/' }),
        }),
      );
      expect(record).toEqual(operations.get(record.id));
      ids.push(record.id);
      break;
    }
    case 'run':
      for (const { job, token } of operations.take(one.model, 1).jobs) {
        if (one.verdict !== undefined) operations.settle({ id: job.id, token }, one.verdict);
      }
      break;
    case 'cancel':
      operations.cancel(ids[one.which] ?? '');
      break;
    case 'retry': {
      const { state } = operations.get(ids[one.which] ?? '') ?? { state: 'queued' };
      if (state === 'failed' || state === 'cancelled') {
        operations.retry(ids[one.which] ?? '', Date.now() + 1e6);
      }
      break;
    }
    case 'deliver':
      for (const { job } of operations.takeDeliveries(1, []).deliveries) {
        operations.settleDelivery(job, one.verdict);
      }
      break;
    case 'purge':
      operations.purge('anna', ['completed', 'failed', 'cancelled']);
  }
}
