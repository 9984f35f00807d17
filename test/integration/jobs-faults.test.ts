import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { boxesOf, JobsClient } from '../helpers/jobs-client.js';
import { type Colour, GREEN, solidPng } from '../helpers/pictures.js';
import { isAlive, runToEnd, stubModels, TestServer, until } from '../helpers/server.js';

const BAD: Colour = [200, 0, 0];

describe('jobs, when something goes wrong', () => {
  const folders: string[] = [];
  const servers: TestServer[] = [];
  const freshFolder = (): string => {
    const folder = join(tmpdir(), `shoal-data-${randomUUID()}`);
    folders.push(folder);
    return folder;
  };
  const start = async (
    model: Record<string, unknown>,
    { folder = freshFolder(), args = [] as string[], ...environment } = {},
  ): Promise<{ server: TestServer; jobs: JobsClient }> => {
    const server = await TestServer.start([stubModels({ one: model }), ...args], {
      SHOAL_SESSIONS: '1',
      SHOAL_MAX_BATCH: '2',
      SHOAL_DATA_DIR: folder,
      ...environment,
    });
    servers.push(server);
    return { server, jobs: new JobsClient(server) };
  };
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  it('give up on an image that the model fails on, after two tries', async () => {
    const { jobs, server } = await start({ throw_on_red: BAD[0] });
    const [bad, good] = [await jobs.submit([BAD]), await jobs.submit([GREEN])];
    expect(await jobs.ended(bad.id)).toMatchObject({
      state: 'failed',
      tries: 1,
      problem: { code: 'model_failed', status: 500 },
      results: [{ problem: { code: 'model_failed' } }],
    });
    expect(await jobs.ended(good.id)).toMatchObject({ state: 'completed' });
    const attempts = (outcome: string): Promise<number> =>
      server.metric(`shoal_job_attempts_total{model="one",outcome="${outcome}"}`);
    expect([await attempts('retry'), await attempts('failed')]).toEqual([1, 1]);
  });

  it('give up on an image that kills engines, and on nothing else', async () => {
    const { jobs, server } = await start({ crash_on_red: BAD[0] });
    const submitted = await Promise.all([
      ...Array.from({ length: 5 }, () => jobs.submit([GREEN])),
      jobs.submit([BAD]),
      jobs.submit([GREEN, BAD, GREEN]),
      ...Array.from({ length: 5 }, () => jobs.submit([GREEN])),
    ]);
    const ended = await Promise.all(submitted.map(({ id }) => jobs.ended(id)));
    const states = ended.map(({ state }) => state);
    expect(states.filter((state) => state === 'completed')).toHaveLength(11);
    expect(ended[5]).toMatchObject({ state: 'failed', problem: { code: 'image_quarantined' } });
    expect(ended[6]?.results).toMatchObject([
      { detections: [{ bbox: [0, 255, 0, 255] }] },
      { problem: { code: 'image_quarantined' } },
      { detections: [{ bbox: [0, 255, 0, 255] }] },
    ]);
    expect(await server.metric('shoal_engine_restarts_total{model="one"}')).toBeLessThanOrEqual(4);
  });

  it('survive the death of an engine', async () => {
    const { jobs, server } = await start({ sleep_ms: 100 });
    const submitted = await Promise.all(
      Array.from({ length: 8 }, () => jobs.submit([GREEN, GREEN])),
    );
    await until(async () => (await server.metric('shoal_in_flight{model="one"}')) > 0);
    for (const pid of server.enginePids()) process.kill(pid, 'SIGKILL');
    for (const { id } of submitted) {
      expect(await jobs.ended(id)).toMatchObject({ state: 'completed', tries: 0 });
    }
  });

  it.each<[string, NodeJS.Signals[]]>([
    ['SIGTERM', ['SIGTERM', 'SIGTERM', 'SIGTERM']],
    ['SIGTERM and then SIGKILL', ['SIGTERM', 'SIGKILL']],
    ['SIGKILL', ['SIGKILL']],
  ])('survive %s of the server', async (name, signals) => {
    const folder = freshFolder();
    const before = await start({ sleep_ms: 300 }, { folder });
    const submitted = await Promise.all(
      Array.from({ length: 12 }, (_, at) => before.jobs.submit([[at, at, at]])),
    );
    await until(
      async () => (await before.server.metric('inference_batch_size_sum{model="one"}')) > 1,
    );
    const engines = before.server.enginePids();
    for (const signal of signals) before.server.signal(signal);
    const { code } = await before.server.exit;
    expect(code).toBe(name === 'SIGTERM' ? 0 : null);
    await until(() => !engines.some(isAlive));

    const after = await start({ sleep_ms: 1 }, { folder });
    for (const [at, { id }] of submitted.entries()) {
      const job = await after.jobs.ended(id);
      expect(job).toMatchObject({ state: 'completed', tries: 0 });
      expect(boxesOf(job)).toEqual([[at, at, at, 255]]);
    }
  });

  it('let nobody wait when the server is told to stop', async () => {
    const { jobs, server } = await start({ hang_on_red: BAD[0] });
    const { id } = await jobs.submit([BAD]);
    const waiting = [jobs.get(id, '?wait=60'), jobs.get(id, '?wait=60')];
    const events = jobs.fetch(`/jobs/${id}/events`).then((response) => response.text());
    await until(async () => (await jobs.get(id)).state === 'running');
    server.signal('SIGTERM');
    expect((await server.exit).code).toBe(0);
    for (const job of await Promise.all(waiting)) expect(job.id).toBe(id);
    expect(await events).toContain(id);
  });

  it('are only taken, not run, without a worker', async () => {
    const folder = freshFolder();
    const api = await start({}, { folder, args: ['--no-worker'] });
    const { id } = await api.jobs.submit([GREEN]);
    expect(await api.jobs.get(id, '?wait=1')).toMatchObject({ state: 'queued', position: 0 });
    expect(await api.server.json('/health')).toMatchObject({ jobs: { worker: false } });
    expect((await api.server.post('/predict', await solidPng(GREEN))).status).toBe(200);
    await api.server.stop();
    const worker = await start({}, { folder });
    expect(await worker.jobs.ended(id)).toMatchObject({ state: 'completed' });
  });

  it('can be switched off', async () => {
    const { server, jobs } = await start({}, { args: ['--queue', 'off'] });
    const response = await jobs.post(await solidPng(GREEN), 'image/png');
    expect(await response.json()).toMatchObject({ status: 404, code: 'not_found' });
    expect(await server.json('/health')).not.toHaveProperty('jobs');
  });

  it('are kept in a folder that one server has', async () => {
    const folder = freshFolder();
    const { server } = await start({}, { folder });
    const args = ['serve', '--port', '0', '--data-dir', folder, stubModels({ one: {} })];
    const { code, stderr } = await runToEnd(args);
    expect(code).toBe(2);
    expect(stderr).toBe(
      `shoal: the data folder ${folder} is used by process ${String(server.pid)}; give this server its own with --data-dir, or say --queue off\n`,
    );
  });

  it('need a queue that can be shared for workers of their own', async () => {
    const { code, stderr } = await runToEnd(['worker', stubModels({ one: {} })]);
    expect(code).toBe(2);
    expect(stderr).toContain('--queue redis://');
  });
});
