import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { ModelResponse } from '../../src/http/schemas.js';
import { GREEN, solidPng } from '../helpers/pictures.js';
import { stubModels, TestServer, until } from '../helpers/server.js';

const folder = (): string => mkdtempSync(join(tmpdir(), 'shoal-cache-'));
/** Batches are nearly free, and with more threads than one everything takes a third. */
const MODEL = { one: { sleep_ms: 10, sleep_ms_per_image: 0.2, wide_speedup: 3 } };

describe('a model that is measured', () => {
  let server: TestServer;
  afterEach(() => server.stop());

  const start = (cache: string, args: string[] = [], models = stubModels(MODEL)) =>
    TestServer.start([models, ...args], { SHOAL_PROFILE: 'quick', SHOAL_CACHE_DIR: cache });
  const describeModel = (): Promise<ModelResponse> => server.json<ModelResponse>('/models/one');
  const wasMeasured = (): boolean => server.lines.some(({ msg }) => msg === 'measured');

  it('is planned from that, shows it, and is not measured again', async () => {
    const [cache, models] = [folder(), stubModels(MODEL)];
    server = await start(cache, [], models);
    expect(wasMeasured()).toBe(true);
    const { plan, profile } = await describeModel();
    expect(profile?.depth).toBe('quick');
    const [split] = profile?.splits ?? [];
    expect(split?.curve[0]).toMatchObject({ batch: 1 });
    expect(split?.curve[0]?.ms).toBeGreaterThanOrEqual(10 / 3);
    expect(split?.curve[0]?.memory_bytes).toBeGreaterThan(2 ** 20);
    expect(plan.max_batch).toBeGreaterThan(1);
    expect(plan.why).toMatch(/^measured: /);
    expect(readdirSync(cache)).toHaveLength(1);
    await server.stop();

    server = await start(cache, [], models);
    expect(wasMeasured()).toBe(false);
    expect((await describeModel()).plan.max_batch).toBe(plan.max_batch);
  });

  it('leaves nothing but measurements behind', async () => {
    const home = mkdtempSync(join(tmpdir(), 'shoal-home-'));
    server = await TestServer.start([], {
      HOME: home,
      XDG_CACHE_HOME: '',
      SHOAL_PROFILE: 'quick',
    });
    // ONNX Runtime would keep a device id and a store of events to send.
    expect(readdirSync(home, { recursive: true, encoding: 'utf8' }).sort()).toEqual([
      '.cache',
      join('.cache', 'shoal'),
      expect.stringMatching(/profile-[0-9a-f]+\.json$/) as string,
    ]);
  });

  it('says what values set by hand cost', async () => {
    server = await start(folder(), ['--max-batch', '1']);
    expect((await describeModel()).plan).toMatchObject({ max_batch: 1 });
    // The largest batch is all that was measured, so there is nothing to compare with.
    await server.stop();
    server = await start(
      folder(),
      ['--sessions', '1', '--threads', '1'],
      stubModels({
        one: { sleep_ms: 40, wide_speedup: 4 },
      }),
    );
    const { plan } = await describeModel();
    expect(plan).toMatchObject({ sessions: 1, threads: 1 });
    expect(plan.warnings[0]).toMatch(/^sessions, threads set by hand/);
    expect(server.lines.some(({ msg }) => msg.startsWith('sessions, threads set by hand'))).toBe(
      true,
    );
  });

  it('gives a lone request all cores', async () => {
    server = await start(
      folder(),
      ['--sessions', '2', '--threads', '1'],
      stubModels({
        one: { sleep_ms: 30, wide_speedup: 3 },
      }),
    );
    const { plan } = await describeModel();
    expect(plan.wide_threads).toBeGreaterThan(1);
    const image = await solidPng(GREEN);
    expect((await server.post('/predict', image)).status).toBe(200);
    expect(await server.metric('shoal_batches_total{model="one",session="wide"}')).toBe(1);
  });

  it('is measured better when there is nothing else to do, and serves all the time', async () => {
    // With little to try, so that it does not take long.
    server = await start(folder(), ['--sessions', '1', '--threads', '1', '--max-batch', '2']);
    const image = await solidPng(GREEN);
    const [engine] = server.enginePids();
    await until(() => server.enginePids().length > 1);
    // A request ends the measuring at once, and it is taken up later.
    expect((await server.post('/predict', image)).status).toBe(200);
    await until(() => server.enginePids().length === 1);
    await until(() => server.lines.some(({ msg }) => msg.startsWith('measured again')));
    await until(async () => (await describeModel()).profile?.depth === 'full');
    await until(() => !server.enginePids().includes(engine as number));
    await sleep(50);
    expect((await server.post('/predict', image)).status).toBe(200);
    expect(await server.metric('shoal_engine_restarts_total{model="one"}')).toBe(0);
  });
});
