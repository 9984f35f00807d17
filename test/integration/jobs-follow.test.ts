import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobView } from '../../src/jobs/job-view.js';
import { boxesOf, JobsClient } from '../helpers/jobs-client.js';
import { BLUE, GREEN, RED, solidPng } from '../helpers/pictures.js';
import { stubModels, TestServer, until } from '../helpers/server.js';

const [ANNA, BERT] = ['annas-long-key', 'berts-long-key'];

describe('jobs', () => {
  let server: TestServer;
  let jobs: JobsClient;
  beforeAll(async () => {
    server = await TestServer.start([stubModels({ one: {}, slow: { sleep_ms: 400 } })], {
      SHOAL_DEFAULT_MODEL: 'one',
      SHOAL_SESSIONS: '1',
      SHOAL_MAX_BATCH: '1',
    });
    jobs = new JobsClient(server);
  });
  afterAll(() => server.stop());

  describe('reading', () => {
    it('says where a job is, and answers a long poll when it has ended', async () => {
      const first = await jobs.submit([RED], { model: 'slow' });
      const second = await jobs.submit([GREEN], { model: 'slow' });
      const last = await jobs.submit([GREEN], { model: 'slow', priority: 'low' });
      expect(await jobs.get(last.id, '?wait=0')).toMatchObject({ progress: { done: 0, total: 1 } });
      const [one, two] = await Promise.all([
        jobs.get(first.id, '?wait=60'),
        jobs.get(second.id, '?wait=60'),
      ]);
      expect([one.state, two.state]).toEqual(['completed', 'completed']);
      expect(one.timings.running_ms).toBeGreaterThan(0);
      await jobs.cancel(last.id);
    });

    it('answers a long poll after its time', async () => {
      const job = await jobs.submit([RED, RED, RED, RED, RED], { model: 'slow', priority: 'low' });
      const polled = await jobs.get(job.id, '?wait=0.1');
      expect(['queued', 'running']).toContain(polled.state);
      await jobs.cancel(job.id);
    });

    it.each(['?wait=61', '?wait=-1', '?wait=x', '?wait=1e3'])('refuses %s', async (query) => {
      const { id } = await jobs.submit([RED]);
      const response = await jobs.fetch(`/jobs/${id}${query}`);
      expect(await response.json()).toMatchObject({ status: 422, code: 'invalid_request' });
    });

    it.each(['job_nothing', `job_${'x'.repeat(24)}`, '..%2f..%2fetc', 'a%00b', 'x'.repeat(500)])(
      'does not know %s',
      async (id) => {
        const response = await jobs.fetch(`/jobs/${id}`);
        expect([400, 404]).toContain(response.status);
      },
    );

    it('streams a job until it has ended, and what is newer to whoever comes back', async () => {
      const { id } = await jobs.submit([RED, GREEN], { model: 'slow' });
      const text = await (await jobs.fetch(`/jobs/${id}/events`)).text();
      const events = eventsOf(text);
      expect(events.at(-1)?.job).toMatchObject({ state: 'completed', results: [{}, {}] });
      const versions = events.map((event) => event.version);
      expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
      const resume = async (version: number): Promise<string> =>
        (
          await jobs.fetch(`/jobs/${id}/events`, { headers: { 'last-event-id': String(version) } })
        ).text();
      expect(eventsOf(await resume((versions.at(-1) ?? 0) - 1))).toEqual([events.at(-1)]);
      const last = String(versions.at(-1));
      const over = await jobs.fetch(`/jobs/${id}/events`, { headers: { 'last-event-id': last } });
      expect([over.status, await over.text()]).toEqual([204, '']);
      // That is not from here, so nothing has been seen.
      expect(eventsOf(await resume(999))).toEqual([events.at(-1)]);
    });
  });

  describe('changing', () => {
    it('cancels what waits and what runs, and nothing of it is computed after that', async () => {
      const running = await jobs.submit([RED, RED, RED, RED, RED], { model: 'slow' });
      const waiting = await jobs.submit([RED], { model: 'slow', priority: 'low' });
      await until(async () => (await jobs.get(running.id)).state === 'running');
      const before = await server.metric('inference_batch_size_sum{model="slow"}');
      expect(await jobs.cancel(waiting.id)).toMatchObject({ state: 'cancelled' });
      expect(await jobs.cancel(running.id)).toMatchObject({ state: 'cancelled' });
      await until(async () => (await server.metric('shoal_in_flight{model="slow"}')) === 0);
      const next = await jobs.submit([GREEN], { model: 'slow' });
      await jobs.ended(next.id);
      // The one that was in the session, perhaps one that entered meanwhile, and the new one.
      const after = await server.metric('inference_batch_size_sum{model="slow"}');
      expect(after - before).toBeLessThanOrEqual(3);
      expect(await jobs.get(running.id)).not.toHaveProperty('results');
    });

    it('queues a cancelled job again, but not one that is completed', async () => {
      const job = await jobs.submit([BLUE], { model: 'slow', priority: 'low' });
      await jobs.cancel(job.id);
      const again = await jobs.fetch(`/jobs/${job.id}/retry`, { method: 'POST' });
      expect(again.status).toBe(200);
      expect(boxesOf(await jobs.ended(job.id))).toEqual([[0, 0, 255, 255]]);
      const conflict = await jobs.fetch(`/jobs/${job.id}/retry`, { method: 'POST' });
      expect(await conflict.json()).toMatchObject({ status: 409, code: 'job_conflict' });
    });

    it('lists and removes', async () => {
      const { id } = await jobs.submit([RED]);
      await jobs.ended(id);
      const list = async (query: string): Promise<{ jobs: JobView[]; cursor?: string }> =>
        (await (await jobs.fetch(`/jobs${query}`)).json()) as never;
      const {
        jobs: [newest],
        cursor,
      } = await list('?state=completed&limit=1');
      expect(newest?.id).toBe(id);
      expect(newest).not.toHaveProperty('results');
      expect((await list(`?state=completed&limit=1&cursor=${cursor ?? ''}`)).jobs[0]?.id).not.toBe(
        id,
      );
      for (const query of ['?state=done', '?limit=0', '?limit=101', '?cursor=%20', '?page=2']) {
        expect(await list(query)).toMatchObject({ code: 'invalid_request' });
      }
      const purge = (query: string): Promise<Response> =>
        jobs.fetch(`/jobs${query}`, { method: 'DELETE' });
      expect((await purge('')).status).toBe(422);
      expect((await purge('?state=queued')).status).toBe(422);
      const { removed } = (await (await purge('?state=completed,cancelled')).json()) as {
        removed: number;
      };
      expect(removed).toBeGreaterThan(1);
      expect((await list('?state=completed')).jobs).toEqual([]);
      expect((await jobs.fetch(`/jobs/${id}`)).status).toBe(404);
    });
  });

  it('are counted', async () => {
    await jobs.ended((await jobs.submit([RED])).id);
    expect(await server.metric('shoal_jobs_submitted_total{model="one"}')).toBeGreaterThan(0);
    expect(
      await server.metric('shoal_job_attempts_total{model="one",outcome="completed"}'),
    ).toBeGreaterThan(0);
    await until(async () => (await server.metric('shoal_jobs{state="completed"}')) > 0);
    expect(await server.json('/health')).toMatchObject({
      jobs: { store: 'embedded', status: 'ok', worker: true },
    });
  });
});

describe('jobs of a key with a rate', () => {
  it('count whatever is asked about them', async () => {
    const server = await TestServer.start([stubModels({ one: {} })], {
      SHOAL_API_KEYS: ANNA,
      SHOAL_KEY_RATE: '2',
    });
    const jobs = new JobsClient(server, ANNA);
    const statuses = await Promise.all(
      Array.from({ length: 10 }, async () => (await jobs.fetch('/jobs')).status),
    );
    expect(statuses).toContain(429);
    expect(statuses).toContain(200);
    await server.stop();
  });
});

describe('jobs of several keys', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start([stubModels({ one: {} })], {
      SHOAL_API_KEYS: `${ANNA},${BERT}`,
    });
  });
  afterAll(() => server.stop());

  it('do not exist for each other', async () => {
    const [anna, bert] = [new JobsClient(server, ANNA), new JobsClient(server, BERT)];
    const { id } = await anna.submit([RED]);
    for (const [path, method] of [
      [`/jobs/${id}`, 'GET'],
      [`/jobs/${id}?wait=5`, 'GET'],
      [`/jobs/${id}`, 'DELETE'],
      [`/jobs/${id}/events`, 'GET'],
      [`/jobs/${id}/retry`, 'POST'],
    ] as const) {
      const response = await bert.fetch(path, { method });
      expect(await response.json(), `${method} ${path}`).toMatchObject({ code: 'job_not_found' });
    }
    expect(await (await bert.fetch('/jobs')).json()).toEqual({ jobs: [] });
    expect(await (await bert.fetch('/jobs?state=completed', { method: 'DELETE' })).json()).toEqual({
      removed: 0,
    });
    expect(await anna.ended(id)).toMatchObject({ state: 'completed' });
    // The same key from somebody else is another job.
    const key = { 'idempotency-key': 'same' };
    const image = await solidPng(RED);
    const [first, second] = [
      await anna.post(image, 'image/png', '/jobs', key),
      await bert.post(image, 'image/png', '/jobs', key),
    ];
    expect([first.status, second.status]).toEqual([202, 202]);
  });
});

function eventsOf(text: string): { version: number; job: JobView }[] {
  return [...text.matchAll(/event: job\nid: (\d+)\ndata: (.*)\n\n/g)].map(
    ([, version, data = '']) => ({ version: Number(version), job: JSON.parse(data) as JobView }),
  );
}
