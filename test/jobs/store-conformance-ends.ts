import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isFinal, type JobRecord } from '../../src/jobs/job.js';
import type { Verdict } from '../../src/jobs/job-store.js';
import { expectRejection } from '../helpers/errors.js';
import {
  consumeAll,
  DONE,
  inState,
  ManualConsumer,
  newJob,
  type StoreHarness,
  useStore,
} from '../helpers/jobs.js';
import { until } from '../helpers/server.js';

const PROBLEM = { code: 'model_failed', detail: 'It does not like it.' } as const;
const FAILED: Verdict = { kind: 'failed', problem: PROBLEM };

/** What every store promises about how jobs end. */
export function describeStoreEnds(name: string, createHarness: () => Promise<StoreHarness>): void {
  describe(`${name} store, ends`, () => {
    const context = useStore(createHarness);

    describe('cancelling', () => {
      it('keeps a queued job from running', async () => {
        const [job, next] = [newJob(), newJob()];
        await context.store.submit(job);
        await context.store.submit(next);
        expect(await context.store.cancel(job.id)).toMatchObject({
          id: job.id,
          state: 'cancelled',
        });
        expect(await context.store.get(next.id)).toMatchObject({ position: 0 });
        const { consumer, seen } = consumeAll(context.store);
        await inState(context.store, next.id, 'completed');
        await consumer.close();
        expect(seen).toEqual([next.id]);
        expect(await context.store.cancel('job_that-nobody-submitted')).toBeUndefined();
      });

      it('tells whoever runs it, and ignores what comes of that', async () => {
        const job = newJob();
        await context.store.submit(job);
        const manual = new ManualConsumer(context.store);
        const claim = await manual.claimed(0);
        expect(await context.store.cancel(job.id)).toMatchObject({ state: 'cancelled' });
        await until(() => claim.cancellation.reason !== undefined);
        await manual.settle(0);
        await manual.consumer.close();
        const after = await context.store.get(job.id);
        expect(after).toMatchObject({ state: 'cancelled' });
        expect(after?.results).toBeUndefined();
      });

      it('leaves what has ended as it is', async () => {
        const job = newJob();
        await context.store.submit(job);
        const { consumer } = consumeAll(context.store);
        await inState(context.store, job.id, 'completed');
        expect(await context.store.cancel(job.id)).toMatchObject({ state: 'completed' });
        await consumer.close();
      });

      it('and completing at the same moment end in one state that stays', async () => {
        const { consumer } = consumeAll(context.store, DONE, { slots: 8 });
        const jobs = Array.from({ length: 40 }, () => newJob());
        const answers = await Promise.all(
          jobs.map(async (job) => {
            await context.store.submit(job);
            return context.store.cancel(job.id);
          }),
        );
        await consumer.close();
        for (const [at, { id }] of jobs.entries()) {
          const answer = answers[at] as JobRecord;
          expect(isFinal(answer.state)).toBe(true);
          expect(await context.store.get(id)).toMatchObject({ state: answer.state });
        }
      });
    });

    describe('expiry', () => {
      it('ends jobs that nobody ran in time', async () => {
        const job = newJob({ expiresAt: Date.now() + 100 });
        await context.store.submit(job);
        const expired = await inState(context.store, job.id, 'expired');
        expect(expired.startedAt).toBeUndefined();
        const { consumer, seen } = consumeAll(context.store);
        const other = newJob();
        await context.store.submit(other);
        await inState(context.store, other.id, 'completed');
        await consumer.close();
        expect(seen).toEqual([other.id]);
      });

      it('ends jobs that run for too long', async () => {
        const job = newJob({ expiresAt: Date.now() + 1500 });
        await context.store.submit(job);
        const manual = new ManualConsumer(context.store);
        const claim = await manual.claimed(0);
        await until(() => claim.cancellation.reason !== undefined);
        await manual.settle(0);
        await inState(context.store, job.id, 'expired');
        await manual.consumer.close();
        expect(await context.store.get(job.id)).toMatchObject({ state: 'expired' });
      });
    });

    describe('failing', () => {
      it('keeps the reason, and the images for another go', async () => {
        const job = newJob();
        await context.store.submit(job);
        const failing = consumeAll(context.store, FAILED);
        expect(await inState(context.store, job.id, 'failed')).toMatchObject({ problem: PROBLEM });
        await failing.consumer.close();
        const expiresAt = Date.now() + 60_000;
        const again = await context.store.retry(job.id, expiresAt);
        expect(again).toMatchObject({ state: 'queued', tries: 0, losses: 0, expiresAt });
        expect(again?.finishedAt).toBeUndefined();
        expect(again?.problem).toBeUndefined();
        const manual = new ManualConsumer(context.store);
        const claim = await manual.claimed(0);
        expect(Buffer.from(await claim.image(0)).toString()).toBe('an image');
        await manual.settle(0);
        await inState(context.store, job.id, 'completed');
        await manual.consumer.close();
        await expectRejection('job_conflict', context.store.retry(job.id, expiresAt));
        expect(await context.store.retry('job_that-nobody-submitted', expiresAt)).toBeUndefined();
      });

      it('can be followed by another try, which counts when the job is to blame', async () => {
        const job = newJob();
        await context.store.submit(job);
        const manual = new ManualConsumer(context.store);
        const retry = { kind: 'retry', problem: PROBLEM, delayMs: 10.5 } as const;
        await manual.settle(0, { ...retry, isBlamed: false });
        expect((await manual.claimed(1)).job).toMatchObject({ tries: 0, problem: PROBLEM });
        await manual.settle(1, { ...retry, isBlamed: true });
        expect((await manual.claimed(2)).job).toMatchObject({ tries: 1 });
        await manual.settle(2);
        const done = await inState(context.store, job.id, 'completed');
        expect(done.problem).toBeUndefined();
        await manual.consumer.close();
      });

      it('does not hold up others while it waits for its next try', async () => {
        const [slow, other] = [newJob(), newJob()];
        await context.store.submit(slow);
        const manual = new ManualConsumer(context.store);
        await manual.settle(0, {
          kind: 'retry',
          problem: PROBLEM,
          delayMs: 600_000,
          isBlamed: true,
        });
        await inState(context.store, slow.id, 'queued');
        await context.store.submit(other);
        expect((await manual.claimed(1)).job.id).toBe(other.id);
        expect((await context.store.stats()).waiting['m']?.count ?? 0).toBe(0);
        await manual.settle(1);
        await manual.consumer.close();
        expect(await context.store.cancel(slow.id)).toMatchObject({ state: 'cancelled' });
      });
    });

    it('ends every job exactly once, whatever happens in which order', async () => {
      const action = fc.constantFrom('cancel', 'complete', 'fail', 'retry', 'release');
      await fc.assert(
        fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 6 }), async (actions) => {
          const job = newJob({ model: 'p' });
          await context.store.submit(job);
          const states: string[] = [];
          for (const one of actions) {
            if (one === 'cancel') await context.store.cancel(job.id);
            else await runOnce(one);
            const record = await context.store.get(job.id);
            states.push(`${record?.state ?? 'none'} ${String(record?.version)}`);
          }
          const firstEnd = states.findIndex((state) => !state.startsWith('queued'));
          if (firstEnd >= 0) expect(new Set(states.slice(firstEnd)).size).toBe(1);
          await context.store.cancel(job.id);

          async function runOnce(kind: 'complete' | 'fail' | 'retry' | 'release'): Promise<void> {
            if (isFinal((await context.store.get(job.id))?.state ?? 'queued')) return;
            const manual = new ManualConsumer(context.store, { model: 'p' });
            const retry = { problem: PROBLEM, delayMs: 0, isBlamed: false } as const;
            await manual.claimed(0);
            // Closed first, so that what goes back to the queue is not taken again.
            const closed = manual.consumer.close();
            await manual.settle(
              0,
              {
                complete: DONE,
                fail: FAILED,
                retry: { kind: 'retry', ...retry } as Verdict,
                release: { kind: 'released' } as Verdict,
              }[kind],
            );
            await closed;
          }
        }),
        { numRuns: 15 },
      );
    });
  });
}
