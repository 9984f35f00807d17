import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isFinal, type JobRecord } from '../../src/jobs/job.js';
import type { JobStore, Verdict } from '../../src/jobs/job-store.js';
import { expectRejection } from '../helpers/errors.js';
import {
  consumeAll,
  DONE,
  inState,
  ManualConsumer,
  newJob,
  type StoreHarness,
} from '../helpers/jobs.js';
import { until } from '../helpers/server.js';

const PROBLEM = { code: 'model_failed', detail: 'It does not like it.' } as const;
const FAILED: Verdict = { kind: 'failed', problem: PROBLEM };

/** What every store promises about how jobs end. */
export function describeStoreEnds(name: string, createHarness: () => Promise<StoreHarness>): void {
  describe(`${name} store, ends`, () => {
    let harness: StoreHarness;
    let store: JobStore;
    beforeEach(async () => {
      harness = await createHarness();
      store = await harness.open();
    });
    afterEach(async () => {
      await store.close();
      await harness.cleanUp();
    });

    describe('cancelling', () => {
      it('keeps a queued job from running', async () => {
        const [job, next] = [newJob(), newJob()];
        await store.submit(job);
        await store.submit(next);
        expect(await store.cancel(job.id)).toMatchObject({ id: job.id, state: 'cancelled' });
        expect(await store.get(next.id)).toMatchObject({ position: 0 });
        const { consumer, seen } = consumeAll(store);
        await inState(store, next.id, 'completed');
        await consumer.close();
        expect(seen).toEqual([next.id]);
        expect(await store.cancel('job_that-nobody-submitted')).toBeUndefined();
      });

      it('tells whoever runs it, and ignores what comes of that', async () => {
        const job = newJob();
        await store.submit(job);
        const manual = new ManualConsumer(store);
        const claim = await manual.claimed(0);
        expect(await store.cancel(job.id)).toMatchObject({ state: 'cancelled' });
        await until(() => claim.cancellation.reason !== undefined);
        await manual.settle(0);
        await manual.consumer.close();
        const after = await store.get(job.id);
        expect(after).toMatchObject({ state: 'cancelled' });
        expect(after?.results).toBeUndefined();
      });

      it('leaves what has ended as it is', async () => {
        const job = newJob();
        await store.submit(job);
        const { consumer } = consumeAll(store);
        await inState(store, job.id, 'completed');
        expect(await store.cancel(job.id)).toMatchObject({ state: 'completed' });
        await consumer.close();
      });

      it('and completing at the same moment end in one state that stays', async () => {
        const { consumer } = consumeAll(store, DONE, { slots: 8 });
        const jobs = Array.from({ length: 40 }, () => newJob());
        const answers = await Promise.all(
          jobs.map(async (job) => {
            await store.submit(job);
            return store.cancel(job.id);
          }),
        );
        await consumer.close();
        for (const [at, { id }] of jobs.entries()) {
          const answer = answers[at] as JobRecord;
          expect(isFinal(answer.state)).toBe(true);
          expect(await store.get(id)).toMatchObject({ state: answer.state });
        }
      });
    });

    describe('expiry', () => {
      it('ends jobs that nobody ran in time', async () => {
        const job = newJob({ expiresAt: Date.now() + 100 });
        await store.submit(job);
        const expired = await inState(store, job.id, 'expired');
        expect(expired.startedAt).toBeUndefined();
        const { consumer, seen } = consumeAll(store);
        const other = newJob();
        await store.submit(other);
        await inState(store, other.id, 'completed');
        await consumer.close();
        expect(seen).toEqual([other.id]);
      });

      it('ends jobs that run for too long', async () => {
        const job = newJob({ expiresAt: Date.now() + 1500 });
        await store.submit(job);
        const manual = new ManualConsumer(store);
        const claim = await manual.claimed(0);
        await until(() => claim.cancellation.reason !== undefined);
        await manual.settle(0);
        await inState(store, job.id, 'expired');
        await manual.consumer.close();
        expect(await store.get(job.id)).toMatchObject({ state: 'expired' });
      });
    });

    describe('failing', () => {
      it('keeps the reason, and the images for another go', async () => {
        const job = newJob();
        await store.submit(job);
        const failing = consumeAll(store, FAILED);
        expect(await inState(store, job.id, 'failed')).toMatchObject({ problem: PROBLEM });
        await failing.consumer.close();
        const expiresAt = Date.now() + 60_000;
        const again = await store.retry(job.id, expiresAt);
        expect(again).toMatchObject({ state: 'queued', tries: 0, losses: 0, expiresAt });
        expect(again?.finishedAt).toBeUndefined();
        expect(again?.problem).toBeUndefined();
        const manual = new ManualConsumer(store);
        const claim = await manual.claimed(0);
        expect(Buffer.from(await claim.image(0)).toString()).toBe('an image');
        await manual.settle(0);
        await inState(store, job.id, 'completed');
        await manual.consumer.close();
        await expectRejection('job_conflict', store.retry(job.id, expiresAt));
        expect(await store.retry('job_that-nobody-submitted', expiresAt)).toBeUndefined();
      });

      it('can be followed by another try, which counts when the job is to blame', async () => {
        const job = newJob();
        await store.submit(job);
        const manual = new ManualConsumer(store);
        const retry = { kind: 'retry', problem: PROBLEM, delayMs: 10.5 } as const;
        await manual.settle(0, { ...retry, isBlamed: false });
        expect((await manual.claimed(1)).job).toMatchObject({ tries: 0, problem: PROBLEM });
        await manual.settle(1, { ...retry, isBlamed: true });
        expect((await manual.claimed(2)).job).toMatchObject({ tries: 1 });
        await manual.settle(2);
        const done = await inState(store, job.id, 'completed');
        expect(done.problem).toBeUndefined();
        await manual.consumer.close();
      });

      it('does not hold up others while it waits for its next try', async () => {
        const [slow, other] = [newJob(), newJob()];
        await store.submit(slow);
        const manual = new ManualConsumer(store);
        await manual.settle(0, {
          kind: 'retry',
          problem: PROBLEM,
          delayMs: 600_000,
          isBlamed: true,
        });
        await inState(store, slow.id, 'queued');
        await store.submit(other);
        expect((await manual.claimed(1)).job.id).toBe(other.id);
        expect((await store.stats()).waiting['m']?.count ?? 0).toBe(0);
        await manual.settle(1);
        await manual.consumer.close();
        expect(await store.cancel(slow.id)).toMatchObject({ state: 'cancelled' });
      });
    });

    it('ends every job exactly once, whatever happens in which order', async () => {
      const action = fc.constantFrom('cancel', 'complete', 'fail', 'retry', 'release');
      await fc.assert(
        fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 6 }), async (actions) => {
          const job = newJob({ model: 'p' });
          await store.submit(job);
          const states: string[] = [];
          for (const one of actions) {
            if (one === 'cancel') await store.cancel(job.id);
            else await runOnce(one);
            const record = await store.get(job.id);
            states.push(`${record?.state ?? 'none'} ${String(record?.version)}`);
          }
          const firstEnd = states.findIndex((state) => !state.startsWith('queued'));
          if (firstEnd >= 0) expect(new Set(states.slice(firstEnd)).size).toBe(1);
          await store.cancel(job.id);

          async function runOnce(kind: 'complete' | 'fail' | 'retry' | 'release'): Promise<void> {
            if (isFinal((await store.get(job.id))?.state ?? 'queued')) return;
            const manual = new ManualConsumer(store, { model: 'p' });
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
