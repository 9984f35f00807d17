import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { BLUE, GREEN, RED, solidPng } from '../helpers/pictures.js';
import { isAlive, stubModels, TestServer, until } from '../helpers/server.js';

describe('an engine that fails', () => {
  let server: TestServer;
  afterEach(() => server.stop());

  /** Clients that send without pause until told to stop; the statuses of all answers. */
  function load(image: Buffer, clients = 6): { stop: () => Promise<number[]> } {
    let isStopped = false;
    const statuses: number[] = [];
    const client = async (): Promise<void> => {
      while (!isStopped) statuses.push((await server.post('/predict', image)).status);
    };
    const running = Array.from({ length: clients }, client);
    return {
      stop: async () => {
        isStopped = true;
        await Promise.all(running);
        return statuses;
      },
    };
  }

  it.each(['SIGSEGV', 'SIGKILL', 'SIGABRT'] as const)(
    'by %s under load is replaced, and no request fails',
    async (signal) => {
      server = await TestServer.start([stubModels({ one: { sleep_ms: 20 } })]);
      const httpPid = server.pid;
      const traffic = load(await solidPng(GREEN));
      await sleep(300);
      const [engine] = server.enginePids();
      const killedAt = performance.now();
      process.kill(engine as number, signal);
      await until(
        async () =>
          (await server.json<{ models: [{ engine: { restarts: number } }] }>('/health')).models[0]
            .engine.restarts === 1,
      );
      await until(async () => (await fetch(`${server.url}/readyz`)).status === 200);
      const backAfterMs = performance.now() - killedAt;
      await sleep(300);
      const statuses = await traffic.stop();
      expect(statuses.length).toBeGreaterThan(20);
      expect(statuses.filter((status) => status !== 200)).toEqual([]);
      expect(server.enginePids()).not.toContain(engine);
      expect(isAlive(httpPid)).toBe(true);
      console.log(`serving again ${backAfterMs.toFixed(0)} ms after ${signal}`);
    },
  );

  it('leaves other models alone', async () => {
    server = await TestServer.start([
      stubModels({ fragile: { crash_on_red: 255 }, solid: { sleep_ms: 5 } }),
      '--default-model',
      'solid',
    ]);
    const traffic = load(await solidPng(GREEN), 3);
    const killer = await server.post('/models/fragile/predict', await solidPng(RED));
    expect(killer.status).toBe(422);
    expect(await killer.json()).toMatchObject({ code: 'image_quarantined' });
    expect((await traffic.stop()).every((status) => status === 200)).toBe(true);
    expect((await server.post('/models/fragile/predict', await solidPng(BLUE))).status).toBe(200);
  });

  it('because of one picture fails that one alone', async () => {
    server = await TestServer.start([
      stubModels({ one: { crash_on_red: 255, sleep_ms: 100 } }),
      '--sessions',
      '1',
    ]);
    const [good, bad] = [await solidPng(GREEN), await solidPng(RED)];
    const images = [bad, ...Array.from({ length: 10 }, () => good)];
    const answers = await Promise.all(images.map((image) => server.post('/predict', image)));
    expect(answers.map(({ status }) => status)).toEqual([422, ...images.slice(1).map(() => 200)]);
    expect((await server.post('/predict', good)).status).toBe(200);
    // From now on the picture is known, and costs no engine any more.
    const restarts = await server.metric('shoal_engine_restarts_total{model="one"}');
    const again = await server.post('/predict', bad);
    expect(again.status).toBe(422);
    expect(await again.json()).toMatchObject({ code: 'image_quarantined' });
    expect(await server.metric('shoal_engine_restarts_total{model="one"}')).toBe(restarts);
    expect(await server.metric('shoal_quarantined_images{model="one"}')).toBe(1);
    expect(await server.metric('shoal_quarantine_total{model="one",event="added"}')).toBe(1);
    expect(await server.metric('shoal_quarantine_total{model="one",event="refused"}')).toBe(1);
  });

  it('because its device is lost says so, and only the picture that did it is lost', async () => {
    server = await TestServer.start([
      stubModels({ one: { device_error_on_red: 255, sleep_ms: 50 } }),
      '--sessions',
      '1',
    ]);
    const [good, bad] = [await solidPng(GREEN), await solidPng(RED)];
    const images = [bad, ...Array.from({ length: 6 }, () => good)];
    const answers = await Promise.all(images.map((image) => server.post('/predict', image)));
    expect(answers.map(({ status }) => status)).toEqual([422, ...images.slice(1).map(() => 200)]);
    expect(JSON.stringify(server.lines)).toContain('the device failed, a new engine is needed');
  });

  it('is quarantined after two hangs, even if nobody waits for it any more', async () => {
    server = await TestServer.start([
      stubModels({ one: { hang_on_red: 255 } }),
      '--hang-timeout-ms',
      '500',
      '--sessions',
      '1',
    ]);
    const headers = { 'content-type': 'image/png', 'x-timeout-ms': '100' };
    const bad = await solidPng(RED);
    const restarts = (): Promise<number> =>
      server.metric('shoal_engine_restarts_total{model="one"}');
    for (const count of [1, 2]) {
      expect((await server.post('/predict', bad, headers)).status).toBe(504);
      await until(async () => (await restarts()) === count);
      await until(async () => (await fetch(`${server.url}/readyz`)).status === 200);
    }
    expect((await server.post('/predict', bad)).status).toBe(422);
    expect(await restarts()).toBe(2);
  });

  it('by hanging in a batch is killed at its deadline', async () => {
    server = await TestServer.start([
      stubModels({ one: { hang_on_red: 255 } }),
      '--hang-timeout-ms',
      '700',
      '--sessions',
      '1',
    ]);
    const [engine] = server.enginePids();
    const headers = { 'content-type': 'image/png', 'x-timeout-ms': '400' };
    const stuck = await server.post('/predict', await solidPng(RED), headers);
    expect(stuck.status).toBe(504);
    await until(() => !isAlive(engine as number));
    expect((await server.post('/predict', await solidPng(GREEN))).status).toBe(200);
  });

  it('by standing still as a whole is killed, too', async () => {
    server = await TestServer.start([stubModels({ one: {} }), '--hang-timeout-ms', '700']);
    const [engine] = server.enginePids();
    process.kill(engine as number, 'SIGSTOP');
    const image = await solidPng(GREEN);
    const late = server.post('/predict', image, {
      'content-type': 'image/png',
      'x-timeout-ms': '300',
    });
    const patient = server.post('/predict', image);
    expect((await late).status).toBe(504);
    expect((await patient).status).toBe(200);
    expect(isAlive(engine as number)).toBe(false);
  });

  it('again and again is restarted ever more slowly, and readiness says so', async () => {
    server = await TestServer.start([stubModels({ one: {} })]);
    for (let crash = 0; crash < 3; crash++) {
      await until(() => server.enginePids().length === 1);
      process.kill(server.enginePids()[0] as number, 'SIGKILL');
      await until(
        () => server.lines.filter(({ msg }) => msg.startsWith('engine ended')).length === crash + 1,
      );
      const ready = await fetch(`${server.url}/readyz`);
      expect(ready.status).toBe(503);
      expect(await ready.json()).toMatchObject({ code: 'not_ready' });
      expect((await fetch(`${server.url}/livez`)).status).toBe(200);
    }
    const delays = server.lines
      .filter(({ msg }) => msg.startsWith('engine ended'))
      .map((line) => line['restart_in_ms']);
    expect(delays).toEqual([0, 500, 1000]);
    await until(async () => (await fetch(`${server.url}/readyz`)).status === 200);
    expect(await server.metric('shoal_engine_restarts_total{model="one"}')).toBe(3);
  });
});
