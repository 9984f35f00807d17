import { afterAll, beforeAll, describe } from 'vitest';
import { isWithoutRedis, RedisServer } from '../helpers/redis.js';
import { redisHarness } from '../helpers/redis-store.js';
import { describeStore } from '../jobs/store-conformance.js';
import { describeStoreEnds } from '../jobs/store-conformance-ends.js';
import { describeStoreLasting } from '../jobs/store-conformance-lasting.js';

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
