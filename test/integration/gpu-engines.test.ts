import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { PredictResponse } from '../../src/http/schemas.js';
import { GREEN, solidPng } from '../helpers/pictures.js';
import { stubModels, TestServer } from '../helpers/server.js';

const POISON = [99, 0, 0] as const;
const RESTARTS = 'shoal_engine_restarts_total{model="one"}';
const RECYCLED = 'shoal_engine_recycled_total{model="one",reason="memory"}';

describe('engines on a GPU', () => {
  let server: TestServer;
  afterEach(() => server.stop());

  const start = async (model: object, devices: string, ...args: string[]): Promise<void> => {
    const root = stubModels({ one: { ...model, devices: { cuda: {} } } });
    // By name: as fast as the CPU is here, it could be chosen otherwise.
    server = await TestServer.start([root, '--device=cuda', ...args], { TEST_DEVICES: devices });
  };
  const label = async (): Promise<string | undefined> => {
    const response = await server.post('/predict', await solidPng(GREEN));
    const { detections } = (await response.json()) as PredictResponse;
    return detections[0]?.label;
  };
  const until = async (name: string, value: number): Promise<void> => {
    await expect.poll(() => server.metric(name), { timeout: 30_000 }).toBe(value);
  };

  it('come back after a crash in two steps: at once, and then with all that is planned', async () => {
    await start({ sleep_ms: 5 }, 'cuda', '--max-batch=4');
    const [first] = server.enginePids();
    const picture = await solidPng(GREEN);
    const answers = Array.from({ length: 40 }, () => server.post('/predict', picture));
    process.kill(first as number, 'SIGSEGV');
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    await until(RESTARTS, 1);
    const news = (): unknown[] =>
      server.lines.map(({ msg }) => msg).filter((msg) => /serves again|taken over/.test(msg));
    const both = ['engine serves again', 'a new engine has taken over'];
    await expect.poll(news, { timeout: 30_000 }).toEqual(both);
    expect(await label()).toBeDefined();
  });

  it('come back after a crash with what fits, where memory has become short meanwhile', async () => {
    const root = stubModels({ one: { devices: { cuda: {} } } });
    server = await TestServer.start([root, '--device=cuda', '--max-batch=64'], {
      TEST_DEVICES: 'cuda',
    });
    const model = { devices: { cuda: { max_images: 8 } } };
    writeFileSync(join(root, 'one', 'model.onnx'), JSON.stringify(model));
    process.kill(server.enginePids()[0] as number, 'SIGSEGV');
    // The makeshift has one size of batch, which does not fit; the next engine has smaller ones.
    await expect.poll(label, { timeout: 30_000 }).toBeDefined();
    const { models } = (await (await fetch(`${server.url}/models`)).json()) as {
      models: readonly { readonly plan: { readonly max_batch: number } }[];
    };
    expect(models[0]?.plan.max_batch).toBe(8);
  });

  it('share the work of one that has crashed', async () => {
    await start({ sleep_ms: 5 }, 'cuda:0,cuda:1');
    const pids = server.enginePids();
    expect(pids).toHaveLength(2);
    const picture = await solidPng(GREEN);
    const answers = Array.from({ length: 40 }, () => server.post('/predict', picture));
    process.kill(pids[1] as number, 'SIGSEGV');
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    await until(RESTARTS, 1);
  });

  it('are replaced when they answer nonsense', async () => {
    await start({ poisoned_by_red: POISON[0] }, 'cuda', '--canary-ms=250');
    const right = await label();
    await server.post('/predict', await solidPng(POISON));
    await until(RESTARTS, 1);
    await expect.poll(label, { timeout: 30_000 }).toBe(right);
    expect(
      await server.metric('shoal_canaries_total{model="one",outcome="wrong"}'),
    ).toBeGreaterThan(0);
  });

  it('are replaced when they hold too much memory, and no request is lost', async () => {
    const leak = { leak_bytes: 48 * 2 ** 20 };
    await start(leak, 'cuda', '--max-batch=1', `--engine-memory-high=${String(900 * 2 ** 20)}`);
    const picture = await solidPng(GREEN);
    const statuses: number[] = [];
    for (let sent = 0; sent < 200 && (await server.metric(RECYCLED)) !== 1; sent++) {
      statuses.push((await server.post('/predict', picture)).status);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await until(RECYCLED, 1);
    expect(new Set(statuses)).toEqual(new Set([200]));
    await expect
      .poll(() => server.lines.some(({ msg }) => msg === 'a new engine has taken over'), {
        timeout: 30_000,
      })
      .toBe(true);
    expect(await server.metric(RESTARTS)).toBe(0);
  });
});
