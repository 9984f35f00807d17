import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { JobStore } from '../../src/jobs/job-store.js';
import { openRedisStore } from '../../src/jobs/redis/open.js';
import { FaultProxy } from '../helpers/fault-proxy.js';
import { consumeAll, inState, LIMITS, ManualConsumer, newJob } from '../helpers/jobs.js';
import { isWithoutRedis, RedisServer } from '../helpers/redis.js';
import { newPrefix, SILENT } from '../helpers/redis-store.js';
import { until } from '../helpers/server.js';

describe.skipIf(isWithoutRedis('healing of the Redis job store'))('the Redis store', () => {
  let server: RedisServer;
  let proxy: FaultProxy;
  let store: JobStore;
  let prefix: string;

  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(async () => {
    await server.stop();
  });
  beforeEach(async () => {
    prefix = newPrefix();
    proxy = await FaultProxy.start(server.port);
    store = await openRedisStore({ url: proxy.url, prefix, limits: LIMITS, log: SILENT });
  });
  afterEach(async () => {
    await store.close();
    await proxy.stop();
  });

  /** As if whoever wrote the record had died before it told BullMQ. */
  async function loseTicket(queue: string, id: string): Promise<void> {
    const key = `${prefix}:bull:${queue}`;
    await server.send(`DEL ${key}:${id}~0 ${key}:${id}~0:lock`);
    await server.send(`ZREM ${key}:prioritized ${id}~0`);
    await server.send(`LREM ${key}:active 0 ${id}~0`);
  }

  /** Tells every receiver, and remembers about which jobs. */
  function deliverAll() {
    const seen: { id: string; state: string }[] = [];
    const courier = store.deliver({
      slots: 1,
      run: ({ job: { id, state } }) => {
        seen.push({ id, state });
        return Promise.resolve({ kind: 'delivered' });
      },
    });
    return { courier, seen };
  }

  it('finds jobs that BullMQ does not know', async () => {
    const jobs = [newJob(), newJob(), newJob({ priority: 'high' })];
    for (const job of jobs) await store.submit(job);
    for (const { id } of jobs) await loseTicket('jobs-m', id);
    const { consumer, seen } = consumeAll(store);
    await until(() => seen.length === 3);
    await consumer.close();
    for (const { id } of jobs) expect(await store.get(id)).toMatchObject({ state: 'completed' });
  });

  it('takes a job away from whoever runs it when BullMQ gave it up', async () => {
    const job = newJob();
    await store.submit(job);
    const manual = new ManualConsumer(store, { slots: 2 });
    const claim = await manual.claimed(0);
    await loseTicket('jobs-m', job.id);
    await until(() => claim.cancellation.reason !== undefined);
    expect((await manual.claimed(1)).job).toMatchObject({ id: job.id, losses: 1 });
    await manual.settle(0, { kind: 'failed', problem: { code: 'model_failed', detail: 'Late.' } });
    await manual.settle(1);
    await inState(store, job.id, 'completed');
    await manual.consumer.close();
  });

  it('finds deliveries that BullMQ does not know', async () => {
    const job = newJob({ webhookUrl: 'https://a.example/b' });
    await store.submit(job);
    await store.cancel(job.id);
    await loseTicket('webhooks', job.id);
    const { courier, seen } = deliverAll();
    await until(async () => (await store.get(job.id))?.webhook?.state === 'delivered');
    await courier.close();
    expect(seen.map(({ id }) => id)).toEqual([job.id]);
  });

  it('tells receivers again about a job that was retried', async () => {
    const job = newJob({ webhookUrl: 'https://a.example/b' });
    await store.submit(job);
    await store.cancel(job.id);
    const { courier, seen } = deliverAll();
    await until(() => seen.length === 1);
    await store.retry(job.id, Date.now() + 60_000);
    const { consumer } = consumeAll(store);
    await until(() => seen.length === 2);
    await consumer.close();
    await courier.close();
    expect(seen.map(({ state }) => state)).toEqual(['cancelled', 'completed']);
  });

  it.each(['refuse', 'blackhole'] as const)('ends when it is told to: %s', async (mode) => {
    await store.submit(newJob());
    const manual = new ManualConsumer(store);
    await manual.claimed(0);
    await proxy.set(mode);
    const closed = manual.consumer.close();
    await manual.settle(0);
    await closed;
    await store.close();
    expect(store.status.isUp).toBe(false);
  });

  it('neither ends, removes nor runs jobs while its clock is wrong', async () => {
    const [open, ended] = [newJob(), newJob()];
    for (const job of [open, ended]) await store.submit(job);
    await store.cancel(ended.id);
    await store.close();
    const right = Date.now.bind(Date);
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => right() + 2 * 86_400_000);
    const errors: unknown[] = [];
    const log = { ...SILENT, error: (line: unknown) => errors.push(line) };
    try {
      store = await openRedisStore({ url: proxy.url, prefix, limits: LIMITS, log });
      const { consumer, seen } = consumeAll(store);
      expect(store.status).toEqual({
        isUp: false,
        detail: 'The clock of this machine is 172800 s ahead of that of Redis.',
      });
      // Longer than it takes until it sweeps.
      await new Promise((resolve) => setTimeout(resolve, 1500));
      expect(await store.get(open.id)).toMatchObject({ state: 'queued' });
      expect(await store.get(ended.id)).toMatchObject({ state: 'cancelled' });
      expect([seen.length, errors.length]).toEqual([0, 1]);
      clock.mockRestore();
      await inState(store, open.id, 'completed');
      expect(store.status.isUp).toBe(true);
      await consumer.close();
    } finally {
      clock.mockRestore();
    }
  });

  it('names the reason of each outage, not that of the one before', async () => {
    const reasons: unknown[] = [];
    const log = { ...SILENT, warn: (line: { reason?: string }) => reasons.push(line.reason) };
    const other = await openRedisStore({ url: proxy.url, prefix, limits: LIMITS, log });
    // Nobody is there when it comes back, which is a reason of its own.
    await proxy.set('refuse');
    await until(() => !other.status.isUp);
    await new Promise((resolve) => setTimeout(resolve, 500));
    await proxy.set('pass');
    await until(() => other.status.isUp);
    await proxy.set('refuse');
    await until(() => reasons.length === 2);
    await other.close();
    await proxy.set('pass');
    expect(reasons).toEqual(['closed', 'closed']);
  });

  it('counts what it occupies, and nothing when all is gone', async () => {
    const jobs = Array.from({ length: 5 }, (_, n) => newJob({ images: [Buffer.alloc(1000 * n)] }));
    for (const job of jobs) await store.submit(job);
    const full = await store.stats();
    expect(full.bytes).toBeGreaterThan(10_000);
    const { consumer, seen } = consumeAll(store);
    await until(() => seen.length === 5);
    await consumer.close();
    expect((await store.stats()).bytes).toBeLessThan(full.bytes);
    await store.purge('anna', ['completed', 'failed', 'cancelled', 'expired']);
    expect((await store.stats()).bytes).toBe(0);
    // Images, idempotency keys, jobs, indexes and results.
    expect(await server.send(`KEYS ${prefix}:[ijor]*`)).toBe('*0\r\n');
  });
});
