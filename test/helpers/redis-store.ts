import { randomBytes } from 'node:crypto';
import type { JobStore, StoreLimits } from '../../src/jobs/job-store.js';
import { openRedisStore } from '../../src/jobs/redis/open.js';
import { FaultProxy } from './fault-proxy.js';
import { LIMITS, type StoreHarness } from './jobs.js';
import type { RedisServer } from './redis.js';

export const SILENT = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
};

export function newPrefix(): string {
  return `t${randomBytes(6).toString('hex')}`;
}

/** Each store has a connection that can be cut, which is what a crash looks like to Redis. */
export function redisHarness(server: RedisServer, leaseMs = LIMITS.leaseMs): StoreHarness {
  const prefix = newPrefix();
  const proxies = new Map<JobStore, FaultProxy>();
  return {
    open: async (limits: Partial<StoreLimits> = {}) => {
      const proxy = await FaultProxy.start(server.port);
      const options = { prefix, limits: { ...LIMITS, leaseMs, ...limits }, log: SILENT };
      const store = await openRedisStore({ url: proxy.url, ...options });
      proxies.set(store, proxy);
      return store;
    },
    crash: async (store) => {
      await proxies.get(store)?.set('refuse');
      await store.close();
    },
    cleanUp: async () => {
      for (const proxy of proxies.values()) await proxy.stop();
    },
  };
}
