import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GREEN, solidPng } from '../helpers/pictures.js';
import { stubModels, TestServer, until } from '../helpers/server.js';

const PNG = { 'content-type': 'image/png' };
const ONE_BY_ONE = { sessions: 1, max_batch: 1, max_concurrent: 1 };

/** A server with a model for each test: how long it takes, and what is set for it alone. */
function startServer(
  models: Record<string, readonly [sleepMs: number, settings: Record<string, unknown>]>,
  settings: Record<string, unknown>,
): Promise<TestServer> {
  const named = Object.entries(models);
  const folder = stubModels(
    Object.fromEntries(named.map(([name, [sleep_ms]]) => [name, { sleep_ms }])),
  );
  const entries = named.map(([name, [, own]]) => ({ path: join(folder, name), ...own }));
  const file = join(folder, 'config.json');
  writeFileSync(file, JSON.stringify({ models: entries, ...settings }));
  return TestServer.start(['--config', file]);
}

/** Sends pictures to one model. */
type Send = (headers?: Record<string, string>) => Promise<Response>;

/** What clients see must not depend on how many processes receive their requests. */
const PROCESSES = [{ http_workers: 1 }, { http_workers: 2 }];

describe.each(PROCESSES)('admission with %o', (processes) => {
  let server: TestServer;
  let image: Buffer;
  beforeAll(async () => {
    image = await solidPng(GREEN);
    const models = {
      // With three before it, a request is too late, unless it is expected; also on a slow machine.
      late: [345, { max_wait_ms: 1000, ...ONE_BY_ONE }],
      strict: [300, ONE_BY_ONE],
      full: [300, { max_queue: 0, ...ONE_BY_ONE }],
      left: [1000, ONE_BY_ONE],
      ranked: [100, ONE_BY_ONE],
    } as const;
    server = await startServer(models, processes);
    expect(server.frontPids()).toHaveLength(processes.http_workers === 1 ? 0 : 2);
  });
  afterAll(() => server.stop());

  const sendTo =
    (model: string): Send =>
    (headers = {}) =>
      server.post(`/models/${model}/predict`, image, { ...PNG, ...headers });
  const queued = (model: string): Promise<number> =>
    server.metric(`shoal_queue_depth{model="${model}"}`);
  const inFlight = (model: string): Promise<number> =>
    server.metric(`shoal_in_flight{model="${model}"}`);

  it('refuses what would come too late, and takes it when it comes back as told', async () => {
    const send = sendTo('late');
    // The first answer teaches it how long one takes.
    expect((await send()).status).toBe(200);
    const taken = [send(), send(), send()];
    await until(async () => (await queued('late')) === 2);
    const refused = await send({ 'x-request-id': 'come-again' });
    const refusedAt = performance.now();
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ code: 'too_late' });
    const seconds = Number(refused.headers.get('retry-after'));
    expect(seconds).toBe(1);
    expect(await server.metric('shoal_rejections_total{model="late",reason="too_late"}')).toBe(1);

    // Others keep the queue as full as it may be, so that only a kept place helps.
    await Promise.all(taken);
    await sleep(Math.max(0, refusedAt + seconds * 1000 - performance.now()));
    const others = [send(), send(), send()];
    await until(async () => (await queued('late')) === 2);
    const stranger = await send({ 'x-request-id': 'somebody-else' });
    const returned = await send({ 'x-request-id': 'come-again' });
    expect([stranger.status, returned.status]).toEqual([429, 200]);
    await Promise.all(others);
    expect(await server.metric('shoal_prediction_error_seconds_count{model="late"}')).toBe(8);
  });

  it('refuses before the body is read what cannot meet its deadline', async () => {
    const send = sendTo('strict');
    expect((await send()).status).toBe(200);
    const busy = [send(), send()];
    await until(async () => (await queued('strict')) === 1);
    const late = await send({ 'x-timeout-ms': '400' });
    expect(late.status).toBe(429);
    expect(await late.json()).toMatchObject({ code: 'too_late' });
    const patient = send({ 'x-timeout-ms': '5000' });
    expect((await Promise.all([...busy, patient])).map(({ status }) => status)).toEqual([
      200, 200, 200,
    ]);
  });

  it('tells a client that asks first not to send its body', async () => {
    const ask = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connect(server.port, '127.0.0.1');
        socket.on('error', reject).on('data', (data) => {
          socket.destroy();
          resolve(data.toString().split('\r\n', 1)[0] ?? '');
        });
        socket.write(
          'POST /models/full/predict HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\n' +
            'Content-Length: 500000\r\nExpect: 100-continue\r\n\r\n',
        );
      });
    expect(await ask()).toBe('HTTP/1.1 100 Continue');
    const busy = sendTo('full')();
    await until(async () => (await inFlight('full')) === 1);
    expect(await ask()).toBe('HTTP/1.1 429 Too Many Requests');
    expect((await busy).status).toBe(200);
    // Refused before anything else was known, but counted all the same.
    expect(await server.metric('shoal_rejections_total{model="full",reason="queue_full"}')).toBe(1);
    expect(await server.metric('inference_requests_total{model="full",outcome="rejected"}')).toBe(
      1,
    );
    await until(() =>
      server.lines.some(({ msg, model }) => msg === 'requests refused' && model === 'full'),
    );
  });

  it('counts computing that was saved, and computing that was for nobody', async () => {
    const saved = (): Promise<number> =>
      server.metric('shoal_saved_compute_seconds_total{model="left",reason="cancelled"}');
    const wasted = (): Promise<number> =>
      server.metric('shoal_wasted_compute_seconds_total{model="left"}');
    expect((await sendTo('left')()).status).toBe(200);
    const abort = new AbortController();
    const leaving = [1, 2, 3].map(() =>
      server.post('/models/left/predict', image, PNG, abort.signal).catch(() => 'left'),
    );
    await until(async () => (await queued('left')) === 2);
    abort.abort();
    await Promise.all(leaving);
    // One was being computed, two were not yet; each process learns of them in its own time.
    await until(async () => (await wasted()) > 0.25);
    await until(async () => (await saved()) > 0.5);
  });

  it('runs background requests when nobody else waits, and says what it does not know', async () => {
    const send = sendTo('ranked');
    const order: string[] = [];
    const note = (name: string, answer: Promise<Response>): Promise<unknown> =>
      answer.then(({ status }) => order.push(`${name} ${String(status)}`));
    const all = [note('first', send())];
    await until(async () => (await inFlight('ranked')) === 1);
    all.push(note('background', send({ 'x-priority': 'background' })));
    await until(async () => (await queued('ranked')) === 1);
    all.push(note('interactive', send({ 'x-priority': 'interactive' })));
    await Promise.all(all);
    expect(order).toEqual(['first 200', 'interactive 200', 'background 200']);
    const odd = await send({ 'x-priority': 'urgent' });
    expect(odd.status).toBe(422);
  });
});

describe.each(PROCESSES)('admission of tenants with %o', (processes) => {
  let server: TestServer;
  let image: Buffer;
  beforeAll(async () => {
    image = await solidPng(GREEN);
    server = await startServer(
      { limited: [300, {}], shared: [20, ONE_BY_ONE] },
      {
        ...processes,
        tenants: [
          { name: 'slow', api_key: 'slow-key-1', rate: 0.01 },
          { name: 'narrow', api_key: 'narrow-key-1', concurrency: 1 },
          { name: 'greedy', api_key: 'greedy-key-1' },
          { name: 'free', api_key: 'free-key-1' },
        ],
      },
    );
  });
  afterAll(() => server.stop());

  const send = (model: string, key: string): Promise<Response> =>
    server.post(`/models/${model}/predict`, image, { ...PNG, 'x-api-key': key });
  const metric = async (series: string): Promise<number> => {
    const headers = { 'x-api-key': 'free-key-1' };
    const text = await (await fetch(`${server.url}/metrics`, { headers })).text();
    const line = text.split('\n').find((one) => one.startsWith(`${series} `));
    return Number(line?.split(' ').at(-1) ?? 0);
  };

  it('keeps each to its rate and to what it may have in work', async () => {
    const as = (key: string): Promise<Response> => send('limited', key);
    expect((await as('slow-key-1')).status).toBe(200);
    const limited = await as('slow-key-1');
    expect(limited.status).toBe(429);
    expect(await limited.json()).toMatchObject({ code: 'rate_limited' });
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(60);

    const first = as('narrow-key-1');
    await until(async () => (await metric('shoal_in_flight{model="limited"}')) === 1);
    const second = await as('narrow-key-1');
    expect(await second.json()).toMatchObject({ code: 'concurrency_limited' });
    expect((await as('free-key-1')).status).toBe(200);
    expect((await first).status).toBe(200);
    expect((await as('narrow-key-1')).status).toBe(200);
    expect(await metric('shoal_tenant_requests_total{tenant="free",outcome="ok"}')).toBe(1);
    expect(await metric('shoal_tenant_requests_total{tenant="slow",outcome="rejected"}')).toBe(1);
  });

  it('serves each its share, however much one of them sends', async () => {
    const order: string[] = [];
    const all = Array.from({ length: 40 }, () =>
      send('shared', 'greedy-key-1').then(() => order.push('greedy')),
    );
    await until(async () => (await metric('shoal_queue_depth{model="shared"}')) >= 20);
    const modest = Array.from({ length: 5 }, () =>
      send('shared', 'free-key-1').then(() => order.push('free')),
    );
    await Promise.all([...all, ...modest]);
    const [first, last] = [order.indexOf('free'), order.lastIndexOf('free')];
    // Five in turn with five others, and what was being answered in between.
    expect(last - first).toBeLessThanOrEqual(14);
    expect(order.length - last).toBeGreaterThan(5);
  });
});
