import { describe, expect, it } from 'vitest';
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

/** What every store promises to those who hand jobs in and to those who run them. */
export function describeStore(name: string, createHarness: () => Promise<StoreHarness>): void {
  describe(`${name} store`, () => {
    const context = useStore(createHarness);

    describe('submission', () => {
      it('gives a queued job its place', async () => {
        const [first, second] = [newJob(), newJob()];
        expect(await context.store.submit(first)).toMatchObject({
          isNew: true,
          record: { id: first.id, state: 'queued', tries: 0, done: 0, position: 0 },
        });
        await context.store.submit(second);
        expect(await context.store.get(second.id)).toMatchObject({ state: 'queued', position: 1 });
        expect(await context.store.get('job_that-nobody-submitted')).toBeUndefined();
      });

      it('keeps everything that was said', async () => {
        const job = newJob({ priority: 'low', threshold: 0.25, webhookUrl: 'https://a.example/b' });
        await context.store.submit(job);
        const { images, fingerprint, ...spec } = job;
        expect(images.length + fingerprint.length).toBeGreaterThan(0);
        expect(await context.store.get(job.id)).toMatchObject(spec);
      });

      it('gives the first job to whoever submits the same again', async () => {
        const job = newJob({ idempotencyKey: 'k' });
        await context.store.submit(job);
        const again = await context.store.submit({ ...newJob({ idempotencyKey: 'k' }) });
        expect(again).toMatchObject({ isNew: false, record: { id: job.id } });
        expect((await context.store.list({ owner: 'anna', limit: 10 })).jobs).toHaveLength(1);
      });

      it('gives one job to many who submit the same at the same time', async () => {
        const submissions = await Promise.all(
          Array.from({ length: 20 }, () => context.store.submit(newJob({ idempotencyKey: 'k' }))),
        );
        expect(new Set(submissions.map(({ record }) => record.id)).size).toBe(1);
        expect(submissions.filter(({ isNew }) => isNew)).toHaveLength(1);
        const { consumer, seen } = consumeAll(context.store);
        await inState(context.store, submissions[0]?.record.id ?? '', 'completed');
        await consumer.close();
        expect(seen).toHaveLength(1);
      });

      it('refuses a key that was used for something else, but not the key of another owner', async () => {
        await context.store.submit(newJob({ idempotencyKey: 'k' }));
        const other = newJob({ idempotencyKey: 'k', fingerprint: 'other' });
        await expectRejection('idempotency_conflict', context.store.submit(other));
        expect(await context.store.submit({ ...other, owner: 'bert' })).toMatchObject({
          isNew: true,
        });
      });

      it('refuses more open jobs than there may be, and takes them again when there is room', async () => {
        await context.reopen({ maxOpenJobs: 2 });
        const [a, b, c] = [newJob(), newJob(), newJob()];
        await context.store.submit(a);
        await context.store.submit(b);
        await expectRejection('queue_full', context.store.submit(c));
        expect(await context.store.get(c.id)).toBeUndefined();
        await context.store.cancel(a.id);
        expect(await context.store.submit(c)).toMatchObject({ isNew: true });
        await expectRejection('queue_full', context.store.retry(a.id, Date.now() + 60_000));
      });

      it('refuses a job that does not fit beside the open ones', async () => {
        await context.reopen({ maxBytes: 1_500_000 });
        const images = [Buffer.alloc(1_000_000, 7)];
        const job = newJob({ images });
        await context.store.submit(job);
        await expectRejection('store_full', context.store.submit(newJob({ images })));
        await context.store.cancel(job.id);
        expect(await context.store.submit(newJob({ images }))).toMatchObject({ isNew: true });
        const never = newJob({ images: [Buffer.alloc(1_500_000)] });
        await expectRejection('body_too_large', context.store.submit(never));
      });
    });

    describe('lists', () => {
      it('show one owner its jobs, newest first, page by page', async () => {
        const jobs = Array.from({ length: 7 }, (_, at) => newJob({ createdAt: 1000 + (at >> 1) }));
        for (const job of jobs) await context.store.submit(job);
        await context.store.submit(newJob({ owner: 'bert' }));
        const seen: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await context.store.list({
            owner: 'anna',
            limit: 3,
            ...(cursor !== undefined && { cursor }),
          });
          expect(page.jobs.length).toBeLessThanOrEqual(3);
          seen.push(...page.jobs.map(({ id }) => id));
          cursor = page.cursor;
        } while (cursor !== undefined);
        expect([...seen].sort()).toEqual(jobs.map(({ id }) => id).sort());
        const times = seen.map((id) => jobs.find((job) => job.id === id)?.createdAt ?? 0);
        expect(times).toEqual([...times].sort((a, b) => b - a));
      });

      it('do not begin anew when the cursor is not theirs', async () => {
        await context.store.submit(newJob());
        const page = context.store.list({ owner: 'anna', limit: 10, cursor: 'nonsense' });
        await expectRejection('invalid_request', page);
      });

      it('can be of one state', async () => {
        const [a, b] = [newJob(), newJob()];
        await context.store.submit(a);
        await context.store.submit(b);
        await context.store.cancel(a.id);
        const ids = async (state: 'queued' | 'cancelled' | 'failed'): Promise<string[]> =>
          (await context.store.list({ owner: 'anna', state, limit: 10 })).jobs.map(({ id }) => id);
        expect(await ids('queued')).toEqual([b.id]);
        expect(await ids('cancelled')).toEqual([a.id]);
        expect(await ids('failed')).toEqual([]);
      });
    });

    describe('consumption', () => {
      it('runs a job with its images and keeps its results', async () => {
        const images = [Buffer.from([0, 255, 13, 10, 0]), Buffer.alloc(300_000, 9)];
        const job = newJob({ images });
        const manual = new ManualConsumer(context.store);
        const hints: string[] = [];
        context.store.onChange((id) => hints.push(id));
        const { record } = await context.store.submit(job);
        const claim = await manual.claimed(0);
        const stored = await Promise.all(images.map((_, at) => claim.image(at)));
        // Compared by hand: the matcher takes so long over bytes that the lease would run out.
        expect(stored.map((image, at) => images[at]?.equals(image))).toEqual([true, true]);
        const running = await inState(context.store, job.id, 'running');
        expect(running.version).toBeGreaterThan(record.version);
        expect(running.startedAt).toBeGreaterThanOrEqual(job.createdAt);
        await manual.settle(0);
        const completed = await inState(context.store, job.id, 'completed');
        expect(completed.version).toBeGreaterThan(running.version);
        expect(completed).toMatchObject({ results: DONE.kind === 'completed' ? DONE.results : [] });
        expect(completed.finishedAt).toBeGreaterThanOrEqual(completed.startedAt ?? Infinity);
        await until(() => hints.includes(job.id));
        await manual.consumer.close();
      });

      it('takes urgent jobs first, and equal ones in their order', async () => {
        const jobs = (['low', 'normal', 'high', 'low', 'normal', 'high'] as const).map((priority) =>
          newJob({ priority }),
        );
        for (const job of jobs) await context.store.submit(job);
        expect(await context.store.get(jobs[4]?.id ?? '')).toMatchObject({ position: 3 });
        const { consumer, seen } = consumeAll(context.store, DONE, { slots: 1 });
        await until(() => seen.length === 6);
        await consumer.close();
        expect(seen).toEqual([2, 5, 1, 4, 0, 3].map((at) => jobs[at]?.id));
      });

      it('has at most as many in work as there are slots, and uses all of them', async () => {
        for (let n = 0; n < 9; n++) await context.store.submit(newJob());
        const manual = new ManualConsumer(context.store, { slots: 3 });
        for (let n = 0; n < 9; n++) {
          await manual.claimed(Math.min(n + 2, 8));
          await manual.settle(n);
        }
        await until(async () => (await context.store.stats()).jobs.completed === 9);
        await manual.consumer.close();
        expect(manual.peak).toBe(3);
        expect(new Set(manual.ids).size).toBe(9);
      });

      it('keeps models apart', async () => {
        const [a, b] = [newJob({ model: 'a' }), newJob({ model: 'b' })];
        await context.store.submit(a);
        await context.store.submit(b);
        const { consumer, seen } = consumeAll(context.store, DONE, { model: 'b' });
        await inState(context.store, b.id, 'completed');
        await consumer.close();
        expect(seen).toEqual([b.id]);
        expect(await context.store.get(a.id)).toMatchObject({ state: 'queued', position: 0 });
      });

      it('leaves jobs to others for as long as it is held', async () => {
        const [first, second] = [newJob(), newJob()];
        const held = new ManualConsumer(context.store);
        held.consumer.hold(true);
        await context.store.submit(first);
        const other = new ManualConsumer(context.store);
        await other.claimed(0);
        await context.store.submit(second);
        held.consumer.hold(false);
        await held.claimed(0);
        expect([held.ids, other.ids]).toEqual([[second.id], [first.id]]);
        await held.settle(0);
        await other.settle(0);
        await Promise.all([held.consumer.close(), other.consumer.close()]);
      });

      it('shows progress', async () => {
        const images = [Buffer.from('1'), Buffer.from('2'), Buffer.from('3')];
        const job = newJob({ images });
        await context.store.submit(job);
        const manual = new ManualConsumer(context.store);
        (await manual.claimed(0)).progress(2);
        await until(async () => (await context.store.get(job.id))?.done === 2);
        expect(await context.store.get(job.id)).toMatchObject({ state: 'running', imageCount: 3 });
        await manual.settle(0);
        await manual.consumer.close();
      });

      it('puts a released job back to its place, as if nothing had been', async () => {
        const [first, second] = [newJob(), newJob()];
        await context.store.submit(first);
        await context.store.submit(second);
        const manual = new ManualConsumer(context.store);
        await manual.claimed(0);
        const closed = manual.consumer.close();
        await manual.settle(0, { kind: 'released' });
        await closed;
        expect(await context.store.get(first.id)).toMatchObject({
          state: 'queued',
          tries: 0,
          losses: 0,
        });
        const { consumer, seen } = consumeAll(context.store, DONE, { slots: 1 });
        await until(() => seen.length === 2);
        await consumer.close();
        expect(seen).toEqual([first.id, second.id]);
      });

      it('writes the verdicts of what is in work before it is closed', async () => {
        const job = newJob();
        await context.store.submit(job);
        const manual = new ManualConsumer(context.store);
        await manual.claimed(0);
        const closed = manual.consumer.close();
        await manual.settle(0);
        await closed;
        expect(await context.store.get(job.id)).toMatchObject({ state: 'completed' });
        expect(manual.consumer.active).toBe(0);
      });
    });

    describe('statistics', () => {
      it('count jobs by state, and those that wait by model', async () => {
        const [a, b] = [newJob({ createdAt: 5000 }), newJob({ createdAt: 6000 })];
        await context.store.submit(a);
        await context.store.submit(b);
        await context.store.submit(newJob({ model: 'other' }));
        const cancelled = newJob();
        await context.store.submit(cancelled);
        await context.store.cancel(cancelled.id);
        const stats = await context.store.stats();
        expect(stats.jobs).toEqual({
          queued: 3,
          running: 0,
          completed: 0,
          failed: 0,
          cancelled: 1,
          expired: 0,
        });
        expect(stats.waiting).toMatchObject({ m: { count: 2 }, other: { count: 1 } });
        expect(stats.waiting['m']?.since).toBe(5000);
        expect(stats.bytes).toBeGreaterThan(0);
        expect(context.store.status.isUp).toBe(true);
      });
    });
  });
}
