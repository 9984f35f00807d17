import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { HealthResponse } from '../../src/http/schemas.js';
import { FakeGpuTool, gpuLine } from '../helpers/fake-gpu-tool.js';
import { JobsClient } from '../helpers/jobs-client.js';
import { GREEN, solidPng } from '../helpers/pictures.js';
import { isAlive, stubModels, TestServer, until } from '../helpers/server.js';

describe('a model on a GPU', () => {
  let tool: FakeGpuTool;
  let server: TestServer;

  const start = async (
    cuda: Record<string, unknown> = {},
    environment: Record<string, string> = {},
  ): Promise<void> => {
    server = await TestServer.start([stubModels({ one: { devices: { cuda } } })], {
      TEST_DEVICES: 'cuda',
      ...tool.environment,
      ...environment,
    });
  };
  const health = (): Promise<HealthResponse> => server.json<HealthResponse>('/health');
  const untilGpu = (expected: Partial<HealthResponse['gpus'][number]>): Promise<void> =>
    until(async () => {
      const [gpu] = (await health()).gpus;
      return Object.entries(expected).every(([key, value]) => gpu?.[key as 'name'] === value);
    });
  const isReady = async (): Promise<boolean> => (await fetch(`${server.url}/readyz`)).ok;

  describe('of one server', () => {
    beforeAll(async () => {
      tool = new FakeGpuTool();
      await start({ sleep_ms: 500 }, { SHOAL_MAX_BATCH: '1', SHOAL_MAX_CONCURRENT: '1' });
    });
    afterAll(() => server.stop());

    it('shows what is in use there', async () => {
      tool.use(2500);
      await untilGpu({ stale: false, memory_used_bytes: 2500 * 2 ** 20 });
      expect(await health()).toMatchObject({
        status: 'ok',
        gpus: [
          {
            index: 0,
            name: 'Fake GPU',
            memory_used_bytes: 2500 * 2 ** 20,
            memory_total_bytes: 10_000 * 2 ** 20,
            utilization: 0.07,
            memory_high: false,
            models: ['one'],
          },
        ],
      });
      expect(await server.metric('shoal_gpu_memory_used_bytes{gpu="0"}')).toBe(2500 * 2 ** 20);
    });

    it('takes nothing while memory is almost full, and finishes what it has', async () => {
      tool.use(2500);
      await until(isReady);
      const before = server.lines.length;
      const image = await solidPng(GREEN);
      let answered = 0;
      const taken = Promise.all(
        Array.from({ length: 8 }, () => server.post('/predict', image).finally(() => answered++)),
      );
      await until(async () => {
        const [model] = (await health()).models;
        return answered + (model?.in_flight ?? 0) + (model?.queue_depth ?? 0) >= 8;
      });
      tool.use(9600);
      await untilGpu({ memory_high: true });

      expect(await headersOnly(server.port)).toEqual({ status: 503, retryAfter: '5' });
      const refused = await server.post('/predict', image);
      expect([refused.status, await refused.json()]).toMatchObject([
        503,
        { code: 'gpu_memory_high' },
      ]);
      const ready = await fetch(`${server.url}/readyz`);
      expect([ready.status, await ready.json()]).toMatchObject([503, { code: 'not_ready' }]);
      expect((await fetch(`${server.url}/livez`)).status).toBe(200);
      expect(await health()).toMatchObject({
        status: 'unavailable',
        detail: expect.stringContaining('GPU 0') as string,
      });
      expect((await taken).map(({ status }) => status)).toEqual(Array(8).fill(200));
      expect(await server.metric('shoal_gpu_memory_high{gpu="0"}')).toBe(1);
      expect(
        await server.metric('shoal_rejections_total{model="one",reason="gpu_memory_high"}'),
      ).toBe(2);

      tool.use(9400);
      await untilGpu({ memory_used_bytes: 9400 * 2 ** 20 });
      expect(await isReady()).toBe(false);
      tool.use(9200);
      await until(isReady);
      expect((await server.post('/predict', image)).status).toBe(200);
      const said = server.lines
        .slice(before)
        .map(({ msg }) => msg)
        .filter((msg) => msg.startsWith('GPU memory'));
      expect(said).toEqual([
        'GPU memory is almost full, no work is taken',
        'GPU memory is free again, work is taken',
      ]);
    });

    it('leaves jobs in the queue until there is memory', async () => {
      tool.use(9600);
      await untilGpu({ memory_high: true });
      const jobs = new JobsClient(server);
      const { id } = await jobs.submit([GREEN]);
      expect(await jobs.get(id, '?wait=1')).toMatchObject({ state: 'queued' });
      tool.use(1000);
      expect(await jobs.ended(id)).toMatchObject({ state: 'completed' });
    });

    it('believes the last reading only for a while, and a new one after the tool has died', async () => {
      tool.use(9600);
      await untilGpu({ memory_high: true });
      tool.become('die');
      await untilGpu({ memory_high: false, stale: true });
      expect(await isReady()).toBe(true);
      tool.use(9600);
      await untilGpu({ memory_high: true, stale: false });
    });
  });

  describe('of a server that starts', () => {
    beforeEach(() => {
      tool = new FakeGpuTool();
    });
    afterEach(() => server.stop());

    it('is refused by all processes that receive requests', async () => {
      tool.use(9600);
      await start({}, { SHOAL_HTTP_WORKERS: '2' });
      await untilGpu({ memory_high: true });
      const image = await solidPng(GREEN);
      const refuse = async (): Promise<boolean> => {
        const answer = await server.post('/predict', image);
        const { code } = (await answer.json()) as { code: string };
        return answer.status === 503 && code === 'gpu_memory_high';
      };
      expect(await Promise.all([refuse(), refuse(), refuse(), refuse()])).not.toContain(false);
      expect(await isReady()).toBe(false);
      tool.use(100);
      await until(isReady);
      expect((await server.post('/predict', image)).status).toBe(200);
    });

    it('is no matter for models on other GPUs', async () => {
      const folder = stubModels({
        one: { devices: { 'cuda:0': {} } },
        two: { devices: { 'cuda:1': {} } },
      });
      const file = join(folder, 'config.json');
      const models = ['one', 'two'].map((name, index) => ({
        path: join(folder, name),
        device_index: String(index),
      }));
      writeFileSync(file, JSON.stringify({ models }));
      tool.use(100, 9600);
      server = await TestServer.start(['--config', file], {
        TEST_DEVICES: 'cuda:0,cuda:1',
        ...tool.environment,
      });
      await until(async () => (await health()).gpus[1]?.memory_high === true);
      const image = await solidPng(GREEN);
      expect((await server.post('/models/one/predict', image)).status).toBe(200);
      expect((await server.post('/models/two/predict', image)).status).toBe(503);
      expect(await isReady()).toBe(true);
      expect(await health()).toMatchObject({
        status: 'ok',
        detail: expect.stringContaining('GPU 1') as string,
        gpus: [{ models: ['one'] }, { models: ['two'] }],
      });
    });

    it('serves on when nobody says anything about the GPU, and notices when somebody does', async () => {
      tool.become('hang');
      await start();
      expect(await isReady()).toBe(true);
      const blind = 'GPU memory is not known and not watched: nvidia-smi does not answer';
      await until(() => server.lines.some(({ msg }) => msg === blind));
      expect((await server.post('/predict', await solidPng(GREEN))).status).toBe(200);
      const garbage =
        '0, GPU-1, Fake\nNVIDIA-SMI has failed\n\n0, GPU-1, Fake GPU, [N/A], 5, [N/A]';
      tool.say(`${garbage}\n${gpuLine(0, 100)}\n0, GPU-`);
      await untilGpu({ stale: false });
    });

    it.each(['lines', 'hang'] as const)(
      'leaves no tool behind when the server is killed (%s)',
      async (mode) => {
        tool.become(mode);
        await start();
        await until(() => tool.pids.length >= 4);
        const { pids } = tool;
        expect(pids.every(isAlive)).toBe(true);
        server.signal('SIGKILL');
        await server.exit;
        await until(() => !pids.some(isAlive));
      },
    );

    it('ends its tools with the server', async () => {
      await start();
      await until(() => tool.pids.length >= 4);
      server.signal('SIGTERM');
      expect(await server.exit).toEqual({ code: 0, signal: null });
      await until(() => !tool.pids.some(isAlive));
    });
  });
});

it('a model on the CPU starts no tool', async () => {
  const tool = new FakeGpuTool();
  tool.use(9999);
  const server = await TestServer.start([stubModels({ one: {} })], tool.environment);
  expect((await server.json<HealthResponse>('/health')).gpus).toEqual([]);
  expect(tool.pids).toEqual([]);
  await server.stop();
});

/** What is answered to a request whose body never comes. */
function headersOnly(port: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'image/png', 'content-length': '1000' };
    const sent = request({ port, method: 'POST', path: '/predict', headers }, (response) => {
      resolve({ status: response.statusCode, retryAfter: response.headers['retry-after'] });
      sent.destroy();
    });
    sent.on('error', reject);
    sent.flushHeaders();
  });
}
