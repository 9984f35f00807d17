import { Agent, request } from 'node:http';
import { createServer } from 'node:net';
import { copyFileSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { GREEN, solidPng } from '../helpers/pictures.js';
import {
  enginesOf,
  isAlive,
  runCli,
  runToEnd,
  stubModels,
  TestServer,
  until,
} from '../helpers/server.js';

/** Of every size but the first, a batch would be run to its end before the server listens. */
const ONE_AT_A_TIME = ['--max-batch', '1'];

describe('shutdown', () => {
  let server: TestServer;
  afterEach(() => server.stop());

  /** A request on a kept connection, with what happened to it. */
  function send(
    agent: Agent,
    image: Buffer,
  ): Promise<{ status: number; connection: string | undefined }> {
    return new Promise((resolve, reject) => {
      const outgoing = request(
        `${server.url}/predict`,
        { method: 'POST', agent, headers: { 'content-type': 'image/png' } },
        (response) => {
          response.resume();
          response.on('end', () => {
            resolve({ status: response.statusCode ?? 0, connection: response.headers.connection });
          });
        },
      );
      outgoing.on('error', reject);
      outgoing.end(image);
    });
  }

  it('by SIGTERM under load loses no request of a keep-alive client', async () => {
    server = await TestServer.start([stubModels({ one: { sleep_ms: 20 } }), '--max-queue', '200']);
    const image = await solidPng(GREEN);
    const outcomes: (number | string)[] = [];
    let isDraining = false;
    const client = async (): Promise<void> => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      for (;;) {
        const answer = await send(agent, image).catch(
          (error: unknown) => (error as NodeJS.ErrnoException).code,
        );
        if (typeof answer !== 'object') {
          // A new connection may be refused once it drains; an accepted request may not be lost.
          outcomes.push(isDraining && answer === 'ECONNREFUSED' ? 'refused' : (answer ?? 'error'));
          return;
        }
        outcomes.push(answer.status);
        if (answer.connection === 'close') return;
      }
    };
    const clients = Array.from({ length: 20 }, client);
    await until(() => outcomes.length > 50);
    isDraining = true;
    server.signal('SIGTERM');
    await sleep(10);
    server.signal('SIGTERM');
    await Promise.all(clients);
    expect(await server.exit).toEqual({ code: 0, signal: null });
    expect(outcomes.filter((outcome) => outcome !== 200 && outcome !== 'refused')).toEqual([]);
    expect(server.lines.at(-1)?.msg).toBe('stopped');
  });

  it('turns readiness off at once and finishes what is in flight', async () => {
    server = await TestServer.start([
      stubModels({ one: { sleep_ms: 2000 } }),
      ...ONE_AT_A_TIME,
      '--drain-delay-ms',
      '1500',
    ]);
    const answer = server.post('/predict', await solidPng(GREEN));
    await until(async () => (await server.metric('shoal_in_flight{model="one"}')) === 1);
    server.signal('SIGTERM');
    await until(async () => (await fetch(`${server.url}/readyz`)).status === 503);
    expect(await server.json('/health')).toMatchObject({ status: 'draining' });
    expect((await answer).status).toBe(200);
    expect((await server.exit).code).toBe(0);
  });

  it('gives up after the grace, and a second Ctrl-C does not wait for it', async () => {
    server = await TestServer.start([
      stubModels({ one: { sleep_ms: 20_000 } }),
      ...ONE_AT_A_TIME,
      '--grace-ms',
      '300',
      '--hang-timeout-ms',
      '60000',
    ]);
    const lost = server.post('/predict', await solidPng(GREEN)).catch(() => 'lost');
    await until(async () => (await server.metric('shoal_in_flight{model="one"}')) === 1);
    server.signal('SIGTERM');
    expect(await lost).toBe('lost');
    expect((await server.exit).code).toBe(0);

    server = await TestServer.start([
      stubModels({ one: { sleep_ms: 20_000 } }),
      ...ONE_AT_A_TIME,
      '--grace-ms',
      '60000',
      '--hang-timeout-ms',
      '60000',
    ]);
    const also = server.post('/predict', await solidPng(GREEN)).catch(() => 'lost');
    await until(async () => (await server.metric('shoal_in_flight{model="one"}')) === 1);
    server.signal('SIGINT');
    await until(() => server.lines.some(({ msg }) => msg === 'draining'));
    server.signal('SIGINT');
    expect((await server.exit).code).toBe(130);
    expect(await also).toBe('lost');
  });

  it('during start-up ends at once, and the engine with it', async () => {
    const child = runCli(['serve', '--port', '0']);
    const exit = new Promise((resolve) => child.once('exit', resolve));
    const engines = (): number[] => enginesOf(child.pid as number);
    await until(() => engines().length === 1);
    const [engine] = engines();
    child.kill('SIGTERM');
    expect(await exit).toBe(0);
    await until(() => !isAlive(engine as number));
    server = await TestServer.start([stubModels({ one: {} })]);
  });

  it('by SIGKILL leaves nothing behind', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'shoal-data-'));
    server = await TestServer.start([stubModels({ one: { sleep_ms: 5000 } }), ...ONE_AT_A_TIME], {
      TMPDIR: folder,
    });
    const engines = server.enginePids();
    const lost = server.post('/predict', await solidPng(GREEN)).catch(() => 'lost');
    await until(async () => (await server.metric('shoal_in_flight{model="one"}')) === 1);
    server.signal('SIGKILL');
    expect(await lost).toBe('lost');
    await until(() => engines.every((pid) => !isAlive(pid)));
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('start-up failures', () => {
  const expectOneLine = async (
    args: string[],
    message: string | RegExp,
    environment: Record<string, string> = {},
  ): Promise<void> => {
    const { code, stderr } = await runToEnd(['serve', '--port', '0', ...args], environment);
    expect(stderr).toMatch(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(code).toBeGreaterThan(0);
  };

  it('bad settings', async () => {
    await expectOneLine(['--prot', '1'], "Unknown option '--prot'");
    await expectOneLine(['--max-batch', '0'], '"max_batch" must be auto|1..256');
    await expectOneLine([], 'did you mean "SHOAL_WINDOW_MS"', { SHOAL_WINDOW_M: '5' });
    await expectOneLine(['--host', '0.0.0.0'], '--insecure');
    await expectOneLine(['a', 'b'], 'one model');
    await expectOneLine(['--data-dir', '/proc/shoal'], 'jobs cannot be kept in /proc/shoal: ');
  });

  it('a port that is taken', async () => {
    const blocker = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => blocker.once('listening', resolve));
    const { port } = blocker.address() as { port: number };
    await expectOneLine(['--port', String(port)], `port ${String(port)} is in use`);
    blocker.close();
    await expectOneLine(['--host', 'nowhere.invalid', '--insecure'], 'no address nowhere.invalid');
  });

  it('models that are broken, missing or test doubles', async () => {
    const manifest = JSON.stringify({
      head: 'ssd',
      input: { width: 300, height: 300 },
      labels: ['a'],
    });
    const broken = mkdtempSync(join(tmpdir(), 'shoal-model-'));
    writeFileSync(join(broken, 'shoal.json'), manifest);
    for (const content of ['', 'not a model', '\0'.repeat(1000)]) {
      writeFileSync(join(broken, 'model.onnx'), content);
      await expectOneLine([broken], 'cannot be loaded');
    }
    await expectOneLine(['nowhere'], `there is no model at ${resolve('nowhere')}`);
    await expectOneLine(
      [stubModels({ one: { fail_to_load: 'ENOMEM' } })],
      'cannot be loaded: ENOMEM',
    );
    await expectOneLine([stubModels({ one: {} })], 'test double', { NODE_ENV: 'production' });
  });

  it('a model whose input is not what its manifest says', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'shoal-model-'));
    writeFileSync(
      join(folder, 'shoal.json'),
      JSON.stringify({ head: 'ssd', input: { width: 64, height: 64 }, labels: ['a'] }),
    );
    copyFileSync('models/ssdlite-mobilenet-v2/model.onnx', join(folder, 'model.onnx'));
    await expectOneLine([folder], 'expected uint8 64×64×3');
  });
});

describe('the command line', () => {
  it('helps', async () => {
    const general = await runToEnd(['--help']);
    expect(general.code).toBe(0);
    expect(general.stdout).toContain('serve [model]');
    const serve = await runToEnd(['serve', '--help']);
    expect(serve.code).toBe(0);
    for (const flag of ['--port', '--max-batch', '--window-ms', '--config', '--insecure'])
      expect(serve.stdout).toContain(flag);
    expect((await runToEnd(['--version'])).stdout.trim()).toMatch(/^\d+\.\d+\.\d+$/);
    expect((await runToEnd(['dance'])).code).toBe(2);
  });
});
