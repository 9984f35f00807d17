import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Delivery,
  type DeliveryVerdict,
  type JobStore,
  MAX_LOSSES,
  type StoreLimits,
  type Verdict,
} from '../../src/jobs/job-store.js';
import { consumeAll, inState, ManualConsumer, newJob, type StoreHarness } from '../helpers/jobs.js';
import { until } from '../helpers/server.js';

const FAILED: Verdict = {
  kind: 'failed',
  problem: { code: 'model_failed', detail: 'It does not like it.' },
};

/** What every store promises about crashes, deliveries, and how long things are kept. */
export function describeStoreLasting(
  name: string,
  createHarness: () => Promise<StoreHarness>,
): void {
  describe(`${name} store, what lasts`, () => {
    let harness: StoreHarness;
    let store: JobStore;
    const reopen = async (limits: Partial<StoreLimits>): Promise<void> => {
      await store.close();
      store = await harness.open(limits);
    };
    /** As after `kill -9`. */
    const crash = async (): Promise<void> => {
      await harness.crash(store);
      store = await harness.open();
    };

    beforeEach(async () => {
      harness = await createHarness();
      store = await harness.open();
    });
    afterEach(async () => {
      await store.close();
      await harness.cleanUp();
    });

    describe('a crash', () => {
      it('loses nothing that was accepted', async () => {
        const jobs = Array.from({ length: 20 }, () => newJob());
        await Promise.all(jobs.map((job) => store.submit(job)));
        await crash();
        const { consumer, seen } = consumeAll(store);
        await until(() => seen.length === 20);
        await consumer.close();
        for (const { id } of jobs)
          expect(await store.get(id)).toMatchObject({ state: 'completed' });
      });

      it('gives what ran to somebody else, and ignores the one that lost it', async () => {
        const job = newJob();
        await store.submit(job);
        const before = new ManualConsumer(store);
        await before.claimed(0);
        await crash();
        await before.settle(0, FAILED);
        const after = new ManualConsumer(store);
        expect((await after.claimed(0)).job).toMatchObject({ id: job.id, losses: 1, tries: 0 });
        await after.settle(0);
        await inState(store, job.id, 'completed');
        await after.consumer.close();
      });

      it('that happens whenever a job runs ends that job', async () => {
        const job = newJob();
        await store.submit(job);
        for (let n = 0; n < MAX_LOSSES; n++) {
          await new ManualConsumer(store).claimed(0);
          await crash();
        }
        const { consumer, seen } = consumeAll(store);
        expect(await inState(store, job.id, 'failed')).toMatchObject({
          problem: { code: 'worker_lost' },
        });
        await consumer.close();
        expect(seen).toEqual([]);
      }, 120_000);
    });

    describe('deliveries', () => {
      const webhookUrl = 'https://receiver.example/hook?x=1';
      const deliver = (
        verdicts: readonly DeliveryVerdict[],
      ): { seen: Delivery[]; close: () => Promise<void> } => {
        const seen: Delivery[] = [];
        const consumer = store.deliver({
          slots: 2,
          run: (delivery) => {
            seen.push(delivery);
            return Promise.resolve(verdicts[seen.length - 1] ?? { kind: 'delivered' });
          },
        });
        return { seen, close: () => consumer.close() };
      };

      it('are tried until they arrive', async () => {
        const job = newJob({ webhookUrl });
        await store.submit(job);
        await store.submit(newJob());
        const { consumer } = consumeAll(store);
        const courier = deliver([
          { kind: 'retry', delayMs: 10, reason: 'status 500', isCounted: true },
          { kind: 'retry', delayMs: 10, reason: 'busy', isCounted: false },
          { kind: 'delivered' },
        ]);
        await until(async () => (await store.get(job.id))?.webhook?.state === 'delivered');
        await courier.close();
        await consumer.close();
        expect(courier.seen).toMatchObject([
          { attempt: 1, webhookUrl, job: { id: job.id, state: 'completed', results: [{}] } },
          { attempt: 2, job: { webhook: { reason: 'status 500', attempts: 1 } } },
          // What was only put off does not count.
          { attempt: 2, job: { webhook: { reason: 'status 500', attempts: 1 } } },
        ]);
        expect((await store.get(job.id))?.webhook?.attempts).toBe(2);
      });

      it('are made for every end, and can be given up', async () => {
        const job = newJob({ webhookUrl });
        await store.submit(job);
        expect(await store.get(job.id)).not.toHaveProperty('webhook');
        await store.cancel(job.id);
        expect(await store.get(job.id)).toMatchObject({ webhook: { state: 'pending' } });
        expect((await store.stats()).webhooksPending).toBe(1);
        const courier = deliver([{ kind: 'abandoned', reason: 'gone' }]);
        await until(async () => (await store.get(job.id))?.webhook?.state === 'failed');
        await courier.close();
        expect(courier.seen).toHaveLength(1);
        expect((await store.stats()).webhooksPending).toBe(0);
      });

      it('survive a crash before and during the attempt', async () => {
        const job = newJob({ webhookUrl });
        await store.submit(job);
        await store.cancel(job.id);
        await crash();
        let isRunning = false;
        store.deliver({
          slots: 1,
          run: () => {
            isRunning = true;
            return new Promise(() => undefined);
          },
        });
        await until(() => isRunning);
        await crash();
        const courier = deliver([]);
        await until(async () => (await store.get(job.id))?.webhook?.state === 'delivered');
        await courier.close();
        expect(courier.seen).toMatchObject([{ job: { id: job.id, state: 'cancelled' } }]);
      });
    });

    describe('retention', () => {
      const finish = async (count: number, bytes = 10): Promise<string[]> => {
        const ids: string[] = [];
        for (let n = 0; n < count; n++) {
          const job = newJob({ images: [Buffer.alloc(bytes, n)] });
          await store.submit(job);
          await store.cancel(job.id);
          ids.push(job.id);
        }
        return ids;
      };
      const kept = async (ids: readonly string[]): Promise<boolean[]> =>
        Promise.all(ids.map(async (id) => (await store.get(id)) !== undefined));

      it('keeps the newest of the finished jobs, and every open one', async () => {
        await reopen({ keepCount: 2 });
        const open = newJob();
        await store.submit(open);
        const ids = await finish(4);
        await until(async () => (await kept(ids)).join() === 'false,false,true,true');
        expect(await store.get(open.id)).toMatchObject({ state: 'queued' });
        expect((await store.list({ owner: 'anna', limit: 10 })).jobs).toHaveLength(3);
      });

      it('forgets finished jobs after their time, with their idempotency keys', async () => {
        await reopen({ keepMs: 200 });
        const job = newJob({ idempotencyKey: 'k' });
        await store.submit(job);
        await store.cancel(job.id);
        await until(async () => (await store.get(job.id)) === undefined);
        const again = newJob({ idempotencyKey: 'k', fingerprint: 'other' });
        expect(await store.submit(again)).toMatchObject({ isNew: true });
      });

      it('removes on demand', async () => {
        await finish(3);
        const open = newJob();
        await store.submit(open);
        expect(await store.purge('bert', ['cancelled'])).toBe(0);
        expect(await store.purge('anna', ['completed'])).toBe(0);
        expect(await store.purge('anna', ['cancelled', 'failed'])).toBe(3);
        expect((await store.list({ owner: 'anna', limit: 10 })).jobs).toMatchObject([
          { id: open.id },
        ]);
      });
    });
  });
}
