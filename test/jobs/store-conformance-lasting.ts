import { describe, expect, it } from 'vitest';
import {
  type Delivery,
  type DeliveryVerdict,
  MAX_LOSSES,
  type Verdict,
} from '../../src/jobs/job-store.js';
import {
  consumeAll,
  inState,
  ManualConsumer,
  newJob,
  type StoreHarness,
  useStore,
} from '../helpers/jobs.js';
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
    const context = useStore(createHarness);

    describe('a crash', () => {
      it('loses nothing that was accepted', async () => {
        const jobs = Array.from({ length: 20 }, () => newJob());
        await Promise.all(jobs.map((job) => context.store.submit(job)));
        await context.crash();
        const { consumer, seen } = consumeAll(context.store);
        await until(() => seen.length === 20);
        await consumer.close();
        for (const { id } of jobs)
          expect(await context.store.get(id)).toMatchObject({ state: 'completed' });
      });

      it('gives what ran to somebody else, and ignores the one that lost it', async () => {
        const job = newJob();
        await context.store.submit(job);
        const before = new ManualConsumer(context.store);
        await before.claimed(0);
        await context.crash();
        await before.settle(0, FAILED);
        const after = new ManualConsumer(context.store);
        expect((await after.claimed(0)).job).toMatchObject({ id: job.id, losses: 1, tries: 0 });
        await after.settle(0);
        await inState(context.store, job.id, 'completed');
        await after.consumer.close();
      });

      it('that happens whenever a job runs ends that job', async () => {
        const job = newJob();
        await context.store.submit(job);
        for (let n = 0; n < MAX_LOSSES; n++) {
          await new ManualConsumer(context.store).claimed(0);
          await context.crash();
        }
        const { consumer, seen } = consumeAll(context.store);
        expect(await inState(context.store, job.id, 'failed')).toMatchObject({
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
        const consumer = context.store.deliver({
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
        await context.store.submit(job);
        await context.store.submit(newJob());
        const { consumer } = consumeAll(context.store);
        const courier = deliver([
          { kind: 'retry', delayMs: 10, reason: 'status 500', isCounted: true },
          { kind: 'retry', delayMs: 10, reason: 'busy', isCounted: false },
          { kind: 'delivered' },
        ]);
        await until(async () => (await context.store.get(job.id))?.webhook?.state === 'delivered');
        await courier.close();
        await consumer.close();
        expect(courier.seen).toMatchObject([
          { attempt: 1, webhookUrl, job: { id: job.id, state: 'completed', results: [{}] } },
          { attempt: 2, job: { webhook: { reason: 'status 500', attempts: 1 } } },
          // What was only put off does not count.
          { attempt: 2, job: { webhook: { reason: 'status 500', attempts: 1 } } },
        ]);
        expect((await context.store.get(job.id))?.webhook?.attempts).toBe(2);
      });

      it('are made for every end, and can be given up', async () => {
        const job = newJob({ webhookUrl });
        await context.store.submit(job);
        expect(await context.store.get(job.id)).not.toHaveProperty('webhook');
        await context.store.cancel(job.id);
        expect(await context.store.get(job.id)).toMatchObject({ webhook: { state: 'pending' } });
        expect((await context.store.stats()).webhooksPending).toBe(1);
        const courier = deliver([{ kind: 'abandoned', reason: 'gone' }]);
        await until(async () => (await context.store.get(job.id))?.webhook?.state === 'failed');
        await courier.close();
        expect(courier.seen).toHaveLength(1);
        expect((await context.store.stats()).webhooksPending).toBe(0);
      });

      it('survive a crash before and during the attempt', async () => {
        const job = newJob({ webhookUrl });
        await context.store.submit(job);
        await context.store.cancel(job.id);
        await context.crash();
        let isRunning = false;
        context.store.deliver({
          slots: 1,
          run: () => {
            isRunning = true;
            return new Promise(() => undefined);
          },
        });
        await until(() => isRunning);
        await context.crash();
        const courier = deliver([]);
        await until(async () => (await context.store.get(job.id))?.webhook?.state === 'delivered');
        await courier.close();
        expect(courier.seen).toMatchObject([{ job: { id: job.id, state: 'cancelled' } }]);
      });
    });

    describe('retention', () => {
      const finish = async (count: number, bytes = 10): Promise<string[]> => {
        const ids: string[] = [];
        for (let n = 0; n < count; n++) {
          const job = newJob({ images: [Buffer.alloc(bytes, n)] });
          await context.store.submit(job);
          await context.store.cancel(job.id);
          ids.push(job.id);
        }
        return ids;
      };
      const kept = async (ids: readonly string[]): Promise<boolean[]> =>
        Promise.all(ids.map(async (id) => (await context.store.get(id)) !== undefined));

      it('keeps the newest of the finished jobs, and every open one', async () => {
        await context.reopen({ keepCount: 2 });
        const open = newJob();
        await context.store.submit(open);
        const ids = await finish(4);
        await until(async () => (await kept(ids)).join() === 'false,false,true,true');
        expect(await context.store.get(open.id)).toMatchObject({ state: 'queued' });
        expect((await context.store.list({ owner: 'anna', limit: 10 })).jobs).toHaveLength(3);
      });

      it('does not count those whose receiver is still to be told', async () => {
        await context.reopen({ keepCount: 2 });
        const pending: string[] = [];
        for (let n = 0; n < 4; n++) {
          const job = newJob({ owner: 'bert', webhookUrl: 'https://receiver.example/' });
          await context.store.submit(job);
          await context.store.cancel(job.id);
          pending.push(job.id);
        }
        const ids = await finish(3);
        await until(async () => (await kept(ids))[0] === false);
        expect(await kept(ids)).toEqual([false, true, true]);
        expect(await kept(pending)).not.toContain(false);
      });

      it('forgets finished jobs after their time, with their idempotency keys', async () => {
        await context.reopen({ keepMs: 200 });
        const job = newJob({ idempotencyKey: 'k' });
        await context.store.submit(job);
        await context.store.cancel(job.id);
        await until(async () => (await context.store.get(job.id)) === undefined);
        const again = newJob({ idempotencyKey: 'k', fingerprint: 'other' });
        expect(await context.store.submit(again)).toMatchObject({ isNew: true });
      });

      it('removes on demand', async () => {
        await finish(3);
        const open = newJob();
        await context.store.submit(open);
        expect(await context.store.purge('bert', ['cancelled'])).toBe(0);
        expect(await context.store.purge('anna', ['completed'])).toBe(0);
        expect(await context.store.purge('anna', ['cancelled', 'failed'])).toBe(3);
        expect((await context.store.list({ owner: 'anna', limit: 10 })).jobs).toMatchObject([
          { id: open.id },
        ]);
      });
    });
  });
}
