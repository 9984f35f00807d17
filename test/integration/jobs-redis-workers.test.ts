import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { boxesOf, JobsClient } from '../helpers/jobs-client.js';
import { BLUE, GREEN, RED, solidPng } from '../helpers/pictures.js';
import { isWithoutRedis, RedisServer } from '../helpers/redis.js';
import { stubModels, TestServer, until } from '../helpers/server.js';

describe.skipIf(isWithoutRedis('servers and workers on Redis'))('servers and workers', () => {
  let redis: RedisServer;
  let servers: TestServer[];
  let workers: TestServer[];
  let one: JobsClient;
  let other: JobsClient;

  const startWorker = (): Promise<TestServer> => start('worker', []);
  const start = (command: string, args: readonly string[]): Promise<TestServer> =>
    TestServer.start(
      [stubModels({ one: { sleep_ms: 200 } }), ...args],
      {
        SHOAL_QUEUE: redis.url,
        SHOAL_SESSIONS: '1',
        SHOAL_MAX_BATCH: '1',
        SHOAL_JOB_LEASE_MS: '1000',
      },
      command,
    );

  const isAnyRunning = async (jobs: readonly { id: string }[]): Promise<boolean> =>
    (await Promise.all(jobs.map(({ id }) => one.get(id)))).some(({ state }) => state === 'running');

  beforeAll(async () => {
    redis = await RedisServer.start();
    servers = await Promise.all([start('serve', ['--no-worker']), start('serve', ['--no-worker'])]);
    workers = await Promise.all([startWorker(), startWorker()]);
    [one, other] = servers.map((server) => new JobsClient(server)) as [JobsClient, JobsClient];
  }, 60_000);
  afterAll(async () => {
    await Promise.all([...servers, ...workers].map((server) => server.stop()));
    await redis.stop();
  });

  it('share their jobs: taken by one, run by another, shown by a third', async () => {
    // More than one worker takes at once.
    const colours = Array.from({ length: 16 }, (_, at) => [RED, GREEN, BLUE][at % 3] ?? RED);
    const jobs = await Promise.all(colours.map((colour) => one.submit([colour])));
    const ended = await Promise.all(jobs.map(({ id }) => other.ended(id)));
    expect(ended.map(boxesOf)).toEqual(colours.map((colour) => [[...colour, 255]]));
    const ran = await Promise.all(
      workers.map((worker) =>
        worker.metric('shoal_job_attempts_total{model="one",outcome="completed"}'),
      ),
    );
    expect(ran[0]).toBeGreaterThan(0);
    expect(ran[1]).toBeGreaterThan(0);
    expect(await servers[0]?.json('/health')).toMatchObject({
      jobs: { store: 'redis', status: 'ok', worker: false },
    });
  });

  it('tell each other: cancelled here, stopped there, followed elsewhere', async () => {
    const { id } = await one.submit([RED, RED, RED, RED, RED, RED]);
    await until(async () => (await other.get(id)).state === 'running');
    const events = other.fetch(`/jobs/${id}/events`).then((response) => response.text());
    expect(await one.cancel(id)).toMatchObject({ state: 'cancelled' });
    expect(await events).toContain('"state":"cancelled"');
    const taken = 'shoal_job_attempts_total{model="one",outcome="taken_away"}';
    await until(async () => {
      const counts = await Promise.all(workers.map((worker) => worker.metric(taken)));
      return counts.includes(1);
    });
  });

  it('give one key one job, whichever server is asked', async () => {
    const image = await solidPng(GREEN);
    const answers = await Promise.all(
      [one, other, one, other].map((client) =>
        client.post(image, 'image/png', '/jobs', { 'idempotency-key': 'same' }),
      ),
    );
    const ids = await Promise.all(
      answers.map(async (answer) => ((await answer.json()) as { id: string }).id),
    );
    expect(new Set(ids).size).toBe(1);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 202]);
  });

  it('take over from a worker that dies', async () => {
    const jobs = await Promise.all(
      Array.from({ length: 6 }, () => one.submit([GREEN, GREEN, GREEN])),
    );
    await until(() => isAnyRunning(jobs));
    const [victim] = workers.splice(0, 1);
    victim?.signal('SIGKILL');
    workers.push(await startWorker());
    for (const { id } of jobs) expect(await other.ended(id)).toMatchObject({ state: 'completed' });
  });

  it('say so when Redis is away, and go on when it is back', async () => {
    const before = await Promise.all([GREEN, BLUE].map((colour) => one.submit([colour, colour])));
    await redis.kill();
    const refused = await one.post(await solidPng(GREEN), 'image/png');
    expect(await refused.json()).toMatchObject({ status: 503, code: 'store_unavailable' });
    await until(async () => (await fetch(`${servers[0]?.url ?? ''}/readyz`)).status === 503);
    expect((await servers[0]?.post('/predict', await solidPng(GREEN)))?.status).toBe(200);
    await redis.restart();
    await until(async () => (await fetch(`${servers[0]?.url ?? ''}/readyz`)).status === 200);
    const after = await one.submit([RED]);
    for (const { id } of [...before, after]) {
      expect(await other.ended(id)).toMatchObject({ state: 'completed' });
    }
  });

  it('stop cleanly, and what a worker had goes to the others', async () => {
    const jobs = await Promise.all(
      Array.from({ length: 6 }, () => one.submit([RED, RED, RED, RED, RED, RED, RED, RED])),
    );
    await until(() => isAnyRunning(jobs));
    const [leaving] = workers.splice(0, 1);
    leaving?.signal('SIGTERM');
    expect((await leaving?.exit)?.code).toBe(0);
    for (const { id } of jobs)
      expect(await one.ended(id)).toMatchObject({ state: 'completed', tries: 0 });
  });
});
