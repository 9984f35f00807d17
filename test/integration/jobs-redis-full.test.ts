import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JobStore } from '../../src/jobs/job-store.js';
import { infoValue } from '../../src/jobs/redis/memory.js';
import { openRedisStore } from '../../src/jobs/redis/open.js';
import { LIMITS, newJob } from '../helpers/jobs.js';
import { isWithoutRedis, RedisServer } from '../helpers/redis.js';
import { newPrefix, SILENT } from '../helpers/redis-store.js';

describe.skipIf(isWithoutRedis('a full Redis'))('a Redis whose memory is full', () => {
  let server: RedisServer;
  let store: JobStore;
  beforeEach(async () => {
    server = await RedisServer.start();
    const options = { prefix: newPrefix(), limits: LIMITS, log: SILENT };
    store = await openRedisStore({ url: server.url, ...options });
  });
  afterEach(async () => {
    await server.send('CONFIG SET maxmemory 0');
    await store.close();
    await server.stop();
  });

  /** As if somebody else had filled it: there is less than what is in use. */
  async function fill(): Promise<void> {
    const used = Number(infoValue(await server.send('INFO memory'), 'used_memory'));
    await server.send(`CONFIG SET maxmemory ${String(used - 100_000)}`);
  }

  async function finish(count: number, bytes: number): Promise<string[]> {
    const ids: string[] = [];
    for (let n = 0; n < count; n++) {
      const job = newJob({ images: [Buffer.alloc(bytes, n)] });
      await store.submit(job);
      await store.cancel(job.id);
      ids.push(job.id);
    }
    return ids;
  }

  it('lets finished jobs be removed', async () => {
    await finish(5, 1000);
    await fill();
    expect(await store.purge('anna', ['cancelled'])).toBe(5);
    expect((await store.stats()).jobs.cancelled).toBe(0);
  });

  it('answers a key that was used before', async () => {
    const large = [Buffer.alloc(2_000_000, 1)];
    for (const images of [[Buffer.from('small')], large]) {
      await server.send('CONFIG SET maxmemory 0');
      const job = { images, idempotencyKey: String(images[0]?.length) };
      const first = await store.submit(newJob(job));
      await fill();
      const again = await store.submit(newJob(job));
      expect(again).toMatchObject({ isNew: false, record: { id: first.record.id } });
    }
  });

  it('takes a new job in place of the oldest finished ones', async () => {
    const ids = await finish(60, 100_000);
    await fill();
    expect(await store.submit(newJob({ images: [Buffer.alloc(5000)] }))).toMatchObject({
      isNew: true,
      record: { state: 'queued' },
    });
    expect(await store.get(ids[0] as string)).toBeUndefined();
    expect(await store.get(ids.at(-1) as string)).toBeDefined();
  });

  it('refuses a new job when nothing is finished, and says when to come back', async () => {
    const job = newJob({ images: [Buffer.alloc(1_000_000)] });
    await store.submit(job);
    await fill();
    const refusal = await store.submit(newJob()).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'store_full', retryAfterSeconds: 5 });
    expect(await store.get(job.id)).toMatchObject({ state: 'queued' });
  });
});
