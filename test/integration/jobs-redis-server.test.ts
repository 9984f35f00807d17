import { afterEach, describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/config/load.js';
import type { JobStore } from '../../src/jobs/job-store.js';
import { openRedisStore } from '../../src/jobs/redis/open.js';
import { expectRejection } from '../helpers/errors.js';
import { FaultProxy } from '../helpers/fault-proxy.js';
import { consumeAll, inState, LIMITS, ManualConsumer, newJob } from '../helpers/jobs.js';
import { isWithoutRedis, RedisServer } from '../helpers/redis.js';
import { newPrefix, SILENT } from '../helpers/redis-store.js';
import { until } from '../helpers/server.js';

describe.skipIf(isWithoutRedis('kinds of Redis servers'))('a Redis server', () => {
  const endings: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of endings.splice(0).reverse()) await end();
  });

  async function start(...settings: string[]): Promise<RedisServer> {
    const server = await RedisServer.start(settings);
    endings.push(() => server.stop());
    return server;
  }
  async function open(url: string, warnings: string[] = []): Promise<JobStore> {
    const log = { ...SILENT, warn: (text: unknown) => warnings.push(String(text)) };
    const store = await openRedisStore({ url, prefix: newPrefix(), limits: LIMITS, log });
    endings.push(() => store.close());
    return store;
  }
  async function refusal(url: string): Promise<string> {
    const error = await open(url).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).message;
  }

  it('that would throw jobs away is refused', async () => {
    const server = await start('--maxmemory-policy', 'allkeys-lru');
    expect(await refusal(server.url)).toMatch(/noeviction \(it is allkeys-lru\)$/);
    await server.send('ACL SETUSER limited on >secret ~* &* +@all -config');
    const url = `redis://limited:secret@127.0.0.1:${String(server.port)}`;
    expect(await refusal(url)).toMatch(/noeviction/);
    await server.send('CONFIG SET maxmemory-policy noeviction');
    expect((await open(url)).status.isUp).toBe(true);
  });

  it('that is not there, silent, or does not know the password is named, the password is not', async () => {
    const server = await start('--requirepass', 'right');
    const proxy = await FaultProxy.start(server.port);
    endings.push(() => proxy.stop());
    const address = `127.0.0.1:${String(proxy.port)}`;
    const url = `redis://:wrong@${address}/1`;
    expect(await refusal(url)).toMatch(new RegExp(`${address}: WRONGPASS`));
    await proxy.set('blackhole');
    expect(await refusal(url)).toContain(address);
    await proxy.set('refuse');
    const text = await refusal(url);
    expect(text).toContain(`cannot reach Redis at ${address}: ECONNREFUSED`);
    expect(text).not.toContain('wrong');
    await proxy.set('pass');
    expect((await open(`redis://:right@${address}/1`)).status.isUp).toBe(true);
  });

  it('that does not write everything down leads to a warning', async () => {
    const warnings: string[] = [];
    await open((await start()).url, warnings);
    expect(warnings).toEqual([]);
    await open((await start('--appendfsync', 'everysec')).url, warnings);
    expect(warnings).toMatchObject([expect.stringMatching(/appendfsync everysec/)]);
    await open((await start('--appendonly', 'no')).url, warnings);
    expect(warnings.at(-1)).toMatch(/no append-only file/);
  });

  it('that gets full takes no more jobs, and loses none of those it has', async () => {
    const server = await start('--maxmemory', '16mb');
    const store = await open(server.url);
    const accepted: string[] = [];
    const images = [Buffer.alloc(200_000, 7)];
    for (;;) {
      const job = newJob({ images });
      try {
        await store.submit(job);
        accepted.push(job.id);
      } catch (error) {
        expect(error).toMatchObject({ code: 'store_full' });
        break;
      }
    }
    expect(accepted.length).toBeGreaterThan(10);
    const { consumer } = consumeAll(store);
    for (const id of accepted) await inState(store, id, 'completed');
    await until(async () =>
      store.submit(newJob({ images })).then(
        () => true,
        () => false,
      ),
    );
    await consumer.close();
  });

  it('that is full all of a sudden still lets jobs end', async () => {
    const server = await start();
    const store = await open(server.url);
    const [done, cancelled] = [newJob(), newJob({ model: 'other' })];
    await store.submit(done);
    await store.submit(cancelled);
    const manual = new ManualConsumer(store);
    await manual.claimed(0);
    await server.send('CONFIG SET maxmemory 1mb');
    await expectRejection('store_full', store.submit(newJob()));
    await manual.settle(0);
    await inState(store, done.id, 'completed');
    expect(await store.cancel(cancelled.id)).toMatchObject({ state: 'cancelled' });
    await server.send('CONFIG SET maxmemory 0');
    await until(async () =>
      store.submit(newJob({ model: 'other' })).then(
        () => true,
        () => false,
      ),
    );
    await manual.consumer.close();
  });
});
