import { afterAll, beforeAll, describe, vi } from 'vitest';
import { isWithoutRedis, RedisServer } from '../../helpers/redis.js';
import { redisHarness } from '../../helpers/redis-store.js';
import { describeStore } from '../store-conformance.js';
import { describeStoreEnds } from '../store-conformance-ends.js';
import { describeStoreLasting } from '../store-conformance-lasting.js';

// Leases have to run out, and that on a machine that does other things too.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 30_000 });

describe.skipIf(isWithoutRedis('the Redis job store'))('with a real Redis', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(async () => {
    await server.stop();
  });
  // Where nothing is lost on purpose, nothing must be lost because the machine is slow.
  const create = () => Promise.resolve(redisHarness(server, 20_000));
  describeStore('Redis', create);
  describeStoreEnds('Redis', create);
  describeStoreLasting('Redis', () => Promise.resolve(redisHarness(server)));
});
