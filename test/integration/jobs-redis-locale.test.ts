import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobStore } from '../../src/jobs/job-store.js';
import { openRedisStore } from '../../src/jobs/redis/open.js';
import { LIMITS, newJob } from '../helpers/jobs.js';
import { isWithoutRedis, RedisServer } from '../helpers/redis.js';
import { newPrefix, SILENT } from '../helpers/redis-store.js';

const NAME = 'en_US.UTF-8';
const folder = mkdtempSync(join(tmpdir(), 'shoal-locale-'));
// In the order of this language, small and large letters are mixed and signs do not count.
spawnSync('localedef', ['-i', 'en_US', '-f', 'UTF-8', join(folder, NAME)]);
const hasLocale = existsSync(join(folder, NAME, 'LC_COLLATE'));
if (!hasLocale) console.error('SKIPPED: there is no language that Redis could be started in');

const isSkipped = isWithoutRedis('Redis in a language of its own') || !hasLocale;
describe.skipIf(isSkipped)('a Redis that runs in a language', () => {
  let server: RedisServer;
  let store: JobStore;
  beforeAll(async () => {
    server = await RedisServer.start([], { LOCPATH: folder, LC_ALL: NAME });
    const options = { prefix: newPrefix(), limits: LIMITS, log: SILENT };
    store = await openRedisStore({ url: server.url, ...options });
  });
  afterAll(async () => {
    await store.close();
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  it('lists every job once, also when they came in the same moment', async () => {
    const createdAt = Date.now();
    const jobs = Array.from({ length: 40 }, () => newJob({ createdAt }));
    await Promise.all(jobs.map((job) => store.submit(job)));
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.list({
        owner: 'anna',
        limit: 3,
        ...(cursor !== undefined && { cursor }),
      });
      seen.push(...page.jobs.map(({ id }) => id));
      cursor = page.cursor;
    } while (cursor !== undefined && seen.length < 100);
    expect(seen.sort()).toEqual(jobs.map(({ id }) => id).sort());
  });
});
