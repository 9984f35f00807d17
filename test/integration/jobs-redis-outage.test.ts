import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ShoalError } from '../../src/errors.js';
import type { Consumer, JobStore } from '../../src/jobs/job-store.js';
import { openRedisStore } from '../../src/jobs/redis/open.js';
import { type FaultMode, FaultProxy } from '../helpers/fault-proxy.js';
import { consumeAll, LIMITS, newJob } from '../helpers/jobs.js';
import { isWithoutRedis, RedisServer } from '../helpers/redis.js';
import { newPrefix, SILENT } from '../helpers/redis-store.js';
import { until } from '../helpers/server.js';

/** Longer outages are tried by hand. */
const OUTAGE_MS = Number(process.env['TEST_OUTAGE_SECONDS'] ?? 1) * 1000;
/** A second is promised; the test machine may be slow. */
const ANSWER_MS = 3000;

describe.skipIf(isWithoutRedis('Redis outages'))('while Redis is away', () => {
  let server: RedisServer;
  let proxy: FaultProxy;
  let stores: JobStore[];
  let consumers: Consumer[];
  let seen: string[];

  beforeEach(async () => {
    server = await RedisServer.start();
    proxy = await FaultProxy.start(server.port);
    const prefix = newPrefix();
    const options = { url: proxy.url, prefix, limits: LIMITS, log: SILENT };
    stores = await Promise.all([1, 2, 3].map(() => openRedisStore(options)));
    const working = stores.slice(1).map((store) => consumeAll(store));
    consumers = working.map(({ consumer }) => consumer);
    seen = [];
    stores[0]?.onChange((id) => seen.push(id));
  });
  afterEach(async () => {
    await proxy.set('pass');
    await Promise.all(consumers.map((consumer) => consumer.close()));
    await Promise.all(stores.map((store) => store.close()));
    await proxy.stop();
    await server.stop();
  });

  /** Submits until it is told to stop; knows what was accepted and how the others were refused. */
  class Client {
    readonly accepted: string[] = [];
    readonly refused: { readonly code: string; readonly ms: number }[] = [];
    #isStopped = false;
    readonly #done: Promise<void>;

    constructor(store: JobStore) {
      this.#done = this.#submitAll(store);
    }

    async stop(): Promise<void> {
      this.#isStopped = true;
      await this.#done;
    }

    async #submitAll(store: JobStore): Promise<void> {
      while (!this.#isStopped) {
        const job = newJob();
        const since = performance.now();
        try {
          await store.submit(job);
          this.accepted.push(job.id);
        } catch (error) {
          const code = error instanceof ShoalError ? error.code : String(error);
          this.refused.push({ code, ms: performance.now() - since });
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  async function completed(store: JobStore, id: string | undefined): Promise<boolean> {
    const record = await store.get(id ?? '').catch(() => undefined);
    return record?.state === 'completed';
  }

  const faults: Readonly<Record<string, readonly [() => Promise<void>, () => Promise<void>]>> = {
    ...Object.fromEntries(
      (['refuse', 'reset', 'blackhole', 'half-open', 2000] as const).map((mode: FaultMode) => [
        typeof mode === 'number' ? `delay ${String(mode)} ms` : mode,
        [() => proxy.set(mode), () => proxy.set('pass')],
      ]),
    ),
    'kill -9 and restart': [() => server.kill(), () => server.restart()],
  };

  it.each(Object.entries(faults))(
    '%s: submissions are refused at once, and nothing that was accepted is lost',
    async (name, [begin, end]) => {
      const [store] = stores as [JobStore];
      const client = new Client(store);
      await until(() => client.accepted.length >= 5);
      await until(() => completed(store, client.accepted[2]));

      await begin();
      const awayAt = performance.now();
      await until(() => client.refused.length >= 3);
      const before = client.accepted.length;
      const usual = client.refused.length;
      await until(() => performance.now() - awayAt > OUTAGE_MS && client.refused.length > usual);
      expect(client.accepted).toHaveLength(before);
      await end();
      const backAt = performance.now();

      await until(() => client.accepted.length > before);
      const acceptedMs = performance.now() - backAt;
      await until(() => completed(store, client.accepted[before]));
      const resumedMs = performance.now() - backAt;
      // Changes are not kept for who is away, so the first ones may go unheard.
      await until(() => client.accepted.slice(before).some((id) => seen.includes(id)));
      await client.stop();

      const { accepted, refused } = client;
      expect(refused.map(({ code }) => code)).toEqual(refused.map(() => 'store_unavailable'));
      const slowest = Math.max(...refused.map(({ ms }) => ms));
      expect(slowest).toBeLessThan(ANSWER_MS);

      await until(async () => {
        const { jobs } = await store.stats();
        return jobs.queued + jobs.running === 0;
      });
      const { jobs } = await store.stats();
      const results = await Promise.all(accepted.map((id) => store.get(id)));
      expect(results.map((record) => record?.state)).toEqual(accepted.map(() => 'completed'));
      // Those that were refused may have been taken; they have ended as well.
      expect(jobs.completed).toBeGreaterThanOrEqual(accepted.length);
      expect(jobs).toMatchObject({ failed: 0, cancelled: 0, expired: 0 });
      expect(store.status.isUp).toBe(true);

      if (process.env['TEST_OUTAGE_SECONDS'] === undefined) return;
      console.log(
        `${name}, ${String(OUTAGE_MS / 1000)} s: ${String(accepted.length)} accepted, ` +
          `${String(refused.length)} refused (slowest ${slowest.toFixed(0)} ms); ` +
          `accepted again after ${acceptedMs.toFixed(0)} ms, completed again after ${resumedMs.toFixed(0)} ms`,
      );
    },
    60_000 + 2 * OUTAGE_MS,
  );
});
