import { mkdtempSync, readdirSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { GREEN, solidPng } from '../helpers/pictures.js';
import { isAlive, stubModels, TestServer, until } from '../helpers/server.js';

const FRONTS = ['--http-workers', '2'];

describe('several processes that receive requests', () => {
  let server: TestServer;
  let image: Buffer;
  beforeAll(async () => {
    image = await solidPng(GREEN);
  });
  afterEach(() => server.stop());

  /** On a connection of its own, so that each front gets its share. */
  function send(path = '/predict', method = 'POST', body = image): Promise<string> {
    return new Promise((resolve) => {
      const outgoing = request(
        server.url + path,
        { method, agent: new Agent(), headers: { 'content-type': 'image/png' } },
        (response) => {
          response.resume();
          response.on('end', () => {
            resolve(String(response.statusCode));
          });
        },
      );
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        resolve(error.code ?? error.message);
      });
      outgoing.end(method === 'GET' ? undefined : body);
    });
  }

  /** Says how much it will send, and waits for what that is answered. */
  function announce(path: string, bytes: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'image/png', 'content-length': String(bytes) };
      const outgoing = request(server.url + path, { method: 'POST', headers }, (response) => {
        resolve(String(response.statusCode));
        outgoing.destroy();
      });
      outgoing.on('error', reject);
      outgoing.flushHeaders();
    });
  }

  const gauges = async (): Promise<number[]> => [
    await server.metric('shoal_in_flight{model="one"}'),
    await server.metric('shoal_queue_depth{model="one"}'),
    await server.metric('shoal_request_bytes'),
  ];
  it('count as one server, whichever is asked', async () => {
    server = await TestServer.start([stubModels({ one: {} }), ...FRONTS]);
    expect(server.frontPids()).toHaveLength(2);
    const answers = await Promise.all(Array.from({ length: 20 }, () => send()));
    expect(answers).toEqual(answers.map(() => '200'));
    await send('/models/none/predict');
    const all = 'inference_requests_total{model="one",outcome="ok"}';
    for (let turn = 0; turn < 4; turn++) expect(await server.metric(all)).toBe(20);
    const http = (route: string, status: number): Promise<number> =>
      server.metric(`shoal_http_requests_total{route="${route}",status="${String(status)}"}`);
    expect(await http('/predict', 200)).toBe(20);
    expect(await http('/models/:name/predict', 404)).toBe(1);
    expect(await server.metric('inference_latency_seconds_count{model="one"}')).toBe(20);
    expect(await server.metric('shoal_process_memory_bytes')).toBeGreaterThan(100e6);
    expect(await gauges()).toEqual([0, 0, 0]);
  });

  it('lose only their own requests when they are killed, and are replaced', async () => {
    server = await TestServer.start([
      stubModels({ one: { sleep_ms: 30 } }),
      ...FRONTS,
      '--max-queue',
      '1000',
    ]);
    const [victim = 0, other = 0] = server.frontPids();
    let isStopped = false;
    const outcomes: string[] = [];
    const clients = Array.from({ length: 12 }, async () => {
      while (!isStopped) outcomes.push(await send());
    });
    await until(() => outcomes.length > 30);
    const answered = 'inference_requests_total{model="one",outcome="ok"}';
    const before = await server.metric(answered);
    process.kill(victim, 'SIGKILL');
    await until(() => server.lines.some(({ msg }) => msg.startsWith('front ended')));
    await until(() => server.frontPids().length === 2 && !server.frontPids().includes(victim));
    const { length } = outcomes;
    await until(() => outcomes.length > length + 30);
    isStopped = true;
    await Promise.all(clients);
    const failed = outcomes.filter((outcome) => outcome !== '200');
    // None was answered wrongly; those of the victim, at most all that were in flight, broke off.
    expect(
      failed.filter((outcome) => !/^(ECONNRESET|EPIPE|socket hang up)$/.test(outcome)),
    ).toEqual([]);
    expect(failed.length).toBeLessThanOrEqual(12);
    expect(isAlive(other)).toBe(true);
    await expect.poll(gauges).toEqual([0, 0, 0]);
    expect(await server.metric('shoal_engine_restarts_total{model="one"}')).toBe(0);
    // What the victim had counted does not go away with it.
    expect(await server.metric(answered)).toBeGreaterThan(before);
    expect(await server.metric('shoal_http_worker_restarts_total')).toBe(1);
    await expect.poll(() => server.metric('shoal_http_workers')).toBe(2);
  });

  it('are replaced when they stop without ending', async () => {
    const flags = [...FRONTS, '--hang-timeout-ms=1500'];
    server = await TestServer.start([stubModels({ one: { sleep_ms: 30 } }), ...flags]);
    const [victim = 0, other = 0] = server.frontPids();
    process.kill(victim, 'SIGSTOP');
    // More than it could be handed: one waits for it, the others go to its neighbour.
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => send()));
    const failed = outcomes.filter((outcome) => outcome !== '200');
    expect(failed.every((outcome) => /^(ECONNRESET|EPIPE|socket hang up)$/.test(outcome))).toBe(
      true,
    );
    expect(failed.length).toBeLessThanOrEqual(1);
    await until(() => server.frontPids().length === 2 && !server.frontPids().includes(victim));
    const line = (): unknown => server.lines.find(({ msg }) => msg.startsWith('front ended'));
    await until(() => line() !== undefined);
    expect(line()).toMatchObject({ reason: 'it did not answer in time and was killed' });
    expect(isAlive(other)).toBe(true);
    expect(await Promise.all([send(), send(), send(), send()])).toEqual(Array(4).fill('200'));
    await expect.poll(gauges).toEqual([0, 0, 0]);
  });

  it('come back on the same port when all of them were killed', async () => {
    server = await TestServer.start([stubModels({ one: {} }), ...FRONTS]);
    for (const pid of server.frontPids()) process.kill(pid, 'SIGKILL');
    await until(() => server.lines.filter(({ msg }) => msg.startsWith('front ended')).length === 2);
    await until(async () => (await send()) === '200');
    await until(() => server.frontPids().length === 2);
    expect(await Promise.all([send(), send(), send(), send()])).toEqual(Array(4).fill('200'));
  });

  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'end with the server process by %s, and leave nothing behind',
    async (signal) => {
      const folder = mkdtempSync(join(tmpdir(), 'shoal-data-'));
      // Batches of two would be tried before it listens, for as long as they take.
      server = await TestServer.start(
        [stubModels({ one: { sleep_ms: 5000 } }), ...FRONTS, '--max-batch=1', '--grace-ms=100'],
        { TMPDIR: folder },
      );
      expect(readdirSync(folder)).toHaveLength(1);
      const children = [...server.frontPids(), ...server.enginePids()];
      const lost = send();
      await until(async () => (await server.metric('shoal_in_flight{model="one"}')) === 1);
      server.signal(signal);
      expect(await lost).not.toBe('200');
      await until(() => children.every((pid) => !isAlive(pid)));
      expect(readdirSync(folder)).toEqual([]);
      const free = createServer().listen(server.port, '127.0.0.1');
      await new Promise((resolve, reject) => free.once('listening', resolve).once('error', reject));
      free.close();
    },
  );

  it('keep no server from ending that is told to, whatever state they are in', async () => {
    const models = stubModels({ one: {} });
    server = await TestServer.start([models, ...FRONTS, '--hang-timeout-ms=60000']);
    const [victim = 0] = server.frontPids();
    process.kill(victim, 'SIGKILL');
    await until(() => server.frontPids().some((pid) => pid > victim));
    server.signal('SIGTERM');
    await until(() => !isAlive(server.pid));

    server = await TestServer.start([
      models,
      ...FRONTS,
      '--hang-timeout-ms=60000',
      '--grace-ms=500',
    ]);
    const children = [...server.frontPids(), ...server.enginePids()];
    process.kill(server.frontPids()[0] ?? 0, 'SIGSTOP');
    server.signal('SIGTERM');
    await until(() => children.every((pid) => !isAlive(pid)));
    await until(() => !isAlive(server.pid));
    expect(isAlive(server.pid)).toBe(false);
  });

  it('say how an engine ended', async () => {
    server = await TestServer.start([stubModels({ one: {} }), ...FRONTS]);
    process.kill(server.enginePids()[0] ?? 0, 'SIGSEGV');
    await until(() => server.lines.some(({ msg }) => msg.startsWith('engine ended')));
    const line = server.lines.find(({ msg }) => msg.startsWith('engine ended'));
    expect(line).toMatchObject({ reason: 'it ended with SIGSEGV' });
  });

  it('take as many connections as there may be, whichever of them have room', async () => {
    server = await TestServer.start([stubModels({ one: {} }), ...FRONTS, '--max-connections=4']);
    const open = (): Promise<Socket | undefined> =>
      new Promise((resolve) => {
        const socket = connect(server.port, '127.0.0.1');
        socket.on('data', () => {
          resolve(socket);
        });
        socket.on('error', () => undefined);
        socket.on('close', () => {
          resolve(undefined);
        });
        socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
      });
    const first = [await open(), await open(), await open(), await open()];
    expect(await open()).toBeUndefined();
    // Both of one process.
    for (const socket of [first[1], first[3]]) socket?.destroy();
    await expect
      .poll(async () => {
        const more = await open();
        if (more !== undefined) first.push(more);
        return first.length;
      })
      .toBe(6);
    expect(await open()).toBeUndefined();
    for (const socket of first) socket?.destroy();
  });

  it('read on what is answered before it was sent, and pass on old HTTP', async () => {
    server = await TestServer.start([stubModels({ one: {} }), ...FRONTS]);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sendAll = (path: string): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const options = { method: 'POST', agent, headers: { 'content-type': 'image/png' } };
        const outgoing = request(server.url + path, options, (response) => {
          response.resume();
          const done = (): void => {
            resolve(response.statusCode);
          };
          response.on('end', () => {
            if (outgoing.writableFinished) done();
            else outgoing.on('finish', done);
          });
        });
        outgoing.on('error', reject);
        outgoing.end(Buffer.alloc(30e6));
      });
    expect(await sendAll('/nothing')).toBe(404);
    expect(await sendAll('/health')).toBe(405);
    agent.destroy();

    const old = connect(server.port, '127.0.0.1').setEncoding('latin1');
    old.write('GET /livez HTTP/1.0\r\n\r\n');
    let answer = '';
    for await (const text of old) answer += text as string;
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
  });

  it('pass on what is not theirs: jobs, long polls, events, large and unknown things', async () => {
    server = await TestServer.start([stubModels({ one: { sleep_ms: 200 } }), ...FRONTS]);
    const submitted = await server.post('/jobs', image);
    expect(submitted.status).toBe(202);
    const { id } = (await submitted.json()) as { id: string };
    const events = await fetch(`${server.url}/jobs/${id}/events`);
    expect(events.headers.get('content-type')).toContain('text/event-stream');
    const [text, ended] = await Promise.all([
      events.text(),
      server.json<{ state: string }>(`/jobs/${id}?wait=20`),
    ]);
    expect(text.trim().split('\n\n').at(-1)).toContain('"completed"');
    expect(ended.state).toBe('completed');

    const bare = connect(server.port, '127.0.0.1').setEncoding('latin1');
    bare.write(`POST /jobs/${id}/retry HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    let answer = '';
    for await (const part of bare) answer += part as string;
    expect(answer).toMatch(/^HTTP\/1.1 409 /);

    expect(await send('/nothing', 'GET')).toBe('404');
    expect(await send('/predict', 'GET')).toBe('405');
    expect(await announce('/jobs', 300e6)).toBe('413');
    const headers = { 'content-type': 'image/png', 'x-request-id': 'mine' };
    const named = await server.post('/jobs', image, headers);
    expect(named.headers.get('x-request-id')).toBe('mine');
    expect(await send()).toBe('200');
    await expect.poll(() => server.metric('shoal_request_bytes')).toBe(0);
  });
});
