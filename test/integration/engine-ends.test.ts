import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { BLUE, GREEN, RED, solidPng } from '../helpers/pictures.js';
import { isAlive, stubModels, TestServer, until } from '../helpers/server.js';
import { Traffic } from '../helpers/traffic.js';
import { expectOnlyRedToFail } from '../helpers/unharmed.js';

/** What ends an engine in other ways than crash.test.ts, which is also run through fronts. */
describe('an engine that fails', () => {
  let server: TestServer;
  afterEach(() => server.stop());

  it('leaves other models alone', async () => {
    server = await TestServer.start([
      stubModels({ fragile: { crash_on_red: 255 }, solid: { sleep_ms: 5 } }),
      '--default-model',
      'solid',
    ]);
    const traffic = new Traffic(server, await solidPng(GREEN), 3);
    const killer = await server.post('/models/fragile/predict', await solidPng(RED));
    expect(killer.status).toBe(422);
    expect(await killer.json()).toMatchObject({ code: 'image_quarantined' });
    expect((await traffic.stop()).every((status) => status === 200)).toBe(true);
    expect((await server.post('/models/fragile/predict', await solidPng(BLUE))).status).toBe(200);
  });

  it('because its device is lost says so, and only the picture that did it is lost', async () => {
    server = await TestServer.start([
      stubModels({ one: { device_error_on_red: 255, sleep_ms: 50 } }),
      '--sessions',
      '1',
    ]);
    await expectOnlyRedToFail(server, 6);
    expect(JSON.stringify(server.lines)).toContain('the device failed, a new engine is needed');
  });

  it('by hanging in a batch is killed at its deadline', async () => {
    server = await TestServer.start([
      stubModels({ one: { hang_on_red: 255 } }),
      '--hang-timeout-ms',
      '1000',
      '--sessions',
      '1',
    ]);
    const [engine] = server.enginePids();
    const headers = { 'content-type': 'image/png', 'x-timeout-ms': '500' };
    const stuck = await server.post('/predict', await solidPng(RED), headers);
    expect(stuck.status).toBe(504);
    await until(() => !isAlive(engine as number));
    expect((await server.post('/predict', await solidPng(GREEN))).status).toBe(200);
    expect(JSON.stringify(server.lines)).toContain('a batch did not come back in time');
  });

  it('by not getting on while it loads is replaced', async () => {
    const root = stubModels({ one: {} });
    const path = join(root, 'one', 'model.onnx');
    server = await TestServer.start([root, '--hang-timeout-ms', '200']);
    writeFileSync(path, JSON.stringify({ hang: true }));
    process.kill(server.enginePids()[0] as number, 'SIGKILL');
    await until(() => server.lines.some(({ msg }) => msg === 'engine ended, restarting it'));
    // It has begun to load and will never be done; the next one would be.
    await until(() => server.enginePids().length === 1);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    writeFileSync(path, '{}');
    const headers = { 'content-type': 'image/png', 'x-timeout-ms': '30000' };
    expect((await server.post('/predict', await solidPng(GREEN), headers)).status).toBe(200);
    expect(JSON.stringify(server.lines)).toContain('it was not loaded after 6 s');
  });

  it('by standing still while it loads is replaced', async () => {
    server = await TestServer.start([stubModels({ one: {} }), '--hang-timeout-ms', '1000']);
    const [first] = server.enginePids();
    process.kill(first as number, 'SIGKILL');
    await until(() => server.enginePids().some((pid) => pid !== first));
    const [loading] = server.enginePids();
    process.kill(loading as number, 'SIGSTOP');
    await until(() => !isAlive(loading as number));
    await until(async () => (await fetch(`${server.url}/readyz`)).status === 200);
    expect(JSON.stringify(server.lines)).toContain('did not answer while it was loading');
    expect((await server.post('/predict', await solidPng(GREEN))).status).toBe(200);
  });

  it('is not what an engine does that was stopped together with its server', async () => {
    server = await TestServer.start([
      stubModels({ one: { sleep_ms: 500 } }),
      ...['--hang-timeout-ms', '1000', '--sessions', '1', '--max-batch', '1'],
    ]);
    const engines = server.enginePids();
    const traffic = new Traffic(server, await solidPng(GREEN), 2);
    for (let pause = 0; pause < 2; pause++) {
      await traffic.flows(2);
      const all = [server.pid, ...engines];
      for (const pid of all) process.kill(pid, 'SIGSTOP');
      await new Promise((resolve) => setTimeout(resolve, 2500));
      for (const pid of all) process.kill(pid, 'SIGCONT');
    }
    await traffic.flows(2);
    expect((await traffic.stop()).every((status) => status === 200)).toBe(true);
    expect(server.enginePids()).toEqual(engines);
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
