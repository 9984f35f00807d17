import { afterEach, describe, expect, it } from 'vitest';
import { GREEN, RED, solidPng } from '../helpers/pictures.js';
import { isAlive, stubModels, TestServer, until } from '../helpers/server.js';
import { Traffic } from '../helpers/traffic.js';
import { expectOnlyRedToFail } from '../helpers/unharmed.js';

describe('an engine that fails', () => {
  let server: TestServer;
  afterEach(() => server.stop());

  it('by any signal under load is replaced, and no request fails', async () => {
    server = await TestServer.start([stubModels({ one: { sleep_ms: 20 } })]);
    const httpPid = server.pid;
    const traffic = new Traffic(server, await solidPng(GREEN));
    for (const [at, signal] of (['SIGSEGV', 'SIGKILL', 'SIGABRT'] as const).entries()) {
      await traffic.flows();
      const [engine] = server.enginePids();
      const killedAt = performance.now();
      process.kill(engine as number, signal);
      await until(
        async () =>
          (await server.json<{ models: [{ engine: { restarts: number } }] }>('/health')).models[0]
            .engine.restarts ===
          at + 1,
      );
      await until(async () => (await fetch(`${server.url}/readyz`)).status === 200);
      const backAfterMs = performance.now() - killedAt;
      expect(server.enginePids()).not.toContain(engine);
      console.log(`serving again ${backAfterMs.toFixed(0)} ms after ${signal}`);
    }
    await traffic.flows();
    const statuses = await traffic.stop();
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    expect(isAlive(httpPid)).toBe(true);
  });

  it('because of one picture fails that one alone', async () => {
    server = await TestServer.start([
      stubModels({ one: { crash_on_red: 255, sleep_ms: 100 } }),
      '--sessions',
      '1',
    ]);
    await expectOnlyRedToFail(server, 10);
    expect((await server.post('/predict', await solidPng(GREEN))).status).toBe(200);
    // From now on the picture is known, and costs no engine any more.
    const restarts = await server.metric('shoal_engine_restarts_total{model="one"}');
    const again = await server.post('/predict', await solidPng(RED));
    expect(again.status).toBe(422);
    expect(await again.json()).toMatchObject({ code: 'image_quarantined' });
    expect(await server.metric('shoal_engine_restarts_total{model="one"}')).toBe(restarts);
    expect(await server.metric('shoal_quarantined_images{model="one"}')).toBe(1);
    expect(await server.metric('shoal_quarantine_total{model="one",event="added"}')).toBe(1);
    expect(await server.metric('shoal_quarantine_total{model="one",event="refused"}')).toBe(1);
  });

  it('is quarantined after two hangs, even if nobody waits for it any more', async () => {
    server = await TestServer.start([
      stubModels({ one: { hang_on_red: 255 } }),
      '--hang-timeout-ms',
      '1000',
      '--sessions',
      '1',
    ]);
    const headers = { 'content-type': 'image/png', 'x-timeout-ms': '500' };
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

  it('by standing still as a whole is killed, too', async () => {
    server = await TestServer.start([stubModels({ one: {} }), '--hang-timeout-ms', '1000']);
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
});
