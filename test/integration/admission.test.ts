import { mkdtempSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { GREEN, solidPng } from '../helpers/pictures.js';
import { stubModels, TestServer, until } from '../helpers/server.js';

const PNG = { 'content-type': 'image/png' };
const ONE_BY_ONE = ['--sessions', '1', '--max-batch', '1', '--max-concurrent', '1'];

describe('admission', () => {
  let server: TestServer;
  let image: Buffer;
  beforeAll(async () => {
    image = await solidPng(GREEN);
  });
  afterEach(() => server.stop());

  const send = (headers: Record<string, string> = {}): Promise<Response> =>
    server.post('/predict', image, { ...PNG, ...headers });
  const queued = (): Promise<number> => server.metric('shoal_queue_depth{model="one"}');

  it('refuses what would come too late, and takes it when it comes back as told', async () => {
    server = await TestServer.start([stubModels({ one: { sleep_ms: 200 } }), ...ONE_BY_ONE], {
      SHOAL_MAX_WAIT_MS: '500',
    });
    // The first answer teaches it how long one takes.
    expect((await send()).status).toBe(200);
    const taken = [send(), send(), send()];
    await until(async () => (await queued()) === 2);
    const refused = await send({ 'x-request-id': 'come-again' });
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ code: 'too_late' });
    const seconds = Number(refused.headers.get('retry-after'));
    expect(seconds).toBe(1);
    expect(await server.metric('shoal_rejections_total{model="one",reason="too_late"}')).toBe(1);

    // Others keep the queue as full as it may be, so that only a kept place helps.
    await Promise.all(taken);
    await sleep(seconds * 1000 - 600);
    const others = [send(), send(), send()];
    await until(async () => (await queued()) === 2);
    const stranger = await send({ 'x-request-id': 'somebody-else' });
    const returned = await send({ 'x-request-id': 'come-again' });
    expect([stranger.status, returned.status]).toEqual([429, 200]);
    await Promise.all(others);
    expect(await server.metric('shoal_prediction_error_seconds_count{model="one"}')).toBe(8);
  });

  it('refuses before the body is read what cannot meet its deadline', async () => {
    server = await TestServer.start([stubModels({ one: { sleep_ms: 300 } }), ...ONE_BY_ONE]);
    expect((await send()).status).toBe(200);
    const busy = [send(), send()];
    await until(async () => (await queued()) === 1);
    const late = await send({ 'x-timeout-ms': '400' });
    expect(late.status).toBe(429);
    expect(await late.json()).toMatchObject({ code: 'too_late' });
    const patient = send({ 'x-timeout-ms': '5000' });
    expect((await Promise.all([...busy, patient])).map(({ status }) => status)).toEqual([
      200, 200, 200,
    ]);
  });

  it('tells a client that asks first not to send its body', async () => {
    server = await TestServer.start([
      stubModels({ one: { sleep_ms: 300 } }),
      ...ONE_BY_ONE,
      '--max-queue',
      '0',
    ]);
    const ask = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connect(server.port, '127.0.0.1');
        socket.on('error', reject).on('data', (data) => {
          socket.destroy();
          resolve(data.toString().split('\r\n', 1)[0] ?? '');
        });
        socket.write(
          'POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\n' +
            'Content-Length: 500000\r\nExpect: 100-continue\r\n\r\n',
        );
      });
    expect(await ask()).toBe('HTTP/1.1 100 Continue');
    const busy = send();
    await until(async () => (await server.metric('shoal_in_flight{model="one"}')) === 1);
    expect(await ask()).toBe('HTTP/1.1 429 Too Many Requests');
    expect((await busy).status).toBe(200);
    // Refused before anything else was known, but counted all the same.
    expect(await server.metric('shoal_rejections_total{model="one",reason="queue_full"}')).toBe(1);
    expect(await server.metric('inference_requests_total{model="one",outcome="rejected"}')).toBe(1);
    await until(() => server.lines.some(({ msg }) => msg === 'requests refused'));
  });

  it('counts computing that was saved, and computing that was for nobody', async () => {
    server = await TestServer.start([stubModels({ one: { sleep_ms: 1000 } }), ...ONE_BY_ONE]);
    const saved = (): Promise<number> =>
      server.metric('shoal_saved_compute_seconds_total{model="one",reason="cancelled"}');
    const wasted = (): Promise<number> =>
      server.metric('shoal_wasted_compute_seconds_total{model="one"}');
    expect((await send()).status).toBe(200);
    const abort = new AbortController();
    const leaving = [1, 2, 3].map(() =>
      server.post('/predict', image, PNG, abort.signal).catch(() => 'left'),
    );
    await until(async () => (await queued()) === 2);
    abort.abort();
    await Promise.all(leaving);
    await until(async () => (await wasted()) > 0);
    // One was being computed, two were not yet.
    expect(await wasted()).toBeGreaterThan(0.25);
    expect(await saved()).toBeGreaterThan(0.5);
  });

  it('runs background requests when nobody else waits, and says what it does not know', async () => {
    server = await TestServer.start([stubModels({ one: { sleep_ms: 100 } }), ...ONE_BY_ONE]);
    const order: string[] = [];
    const note = (name: string, answer: Promise<Response>): Promise<unknown> =>
      answer.then(({ status }) => order.push(`${name} ${String(status)}`));
    const all = [note('first', send())];
    await until(async () => (await server.metric('shoal_in_flight{model="one"}')) === 1);
    all.push(note('background', send({ 'x-priority': 'background' })));
    await until(async () => (await queued()) === 1);
    all.push(note('interactive', send({ 'x-priority': 'interactive' })));
    await Promise.all(all);
    expect(order).toEqual(['first 200', 'interactive 200', 'background 200']);
    const odd = await send({ 'x-priority': 'urgent' });
    expect(odd.status).toBe(422);
  });

  describe('of tenants', () => {
    const config = (part: Record<string, unknown>): string[] => {
      const file = join(mkdtempSync(join(tmpdir(), 'shoal-')), 'config.json');
      writeFileSync(file, JSON.stringify(part));
      return ['--config', file];
    };
    const as = (key: string, headers: Record<string, string> = {}): Promise<Response> =>
      send({ 'x-api-key': key, ...headers });

    it('keeps each to its rate and to what it may have in work', async () => {
      server = await TestServer.start([
        stubModels({ one: { sleep_ms: 300 } }),
        ...config({
          tenants: [
            { name: 'slow', api_key: 'slow-key-1', rate: 0.01 },
            { name: 'narrow', api_key: 'narrow-key-1', concurrency: 1 },
            { name: 'free', api_key: 'free-key-1' },
          ],
        }),
      ]);
      expect((await as('slow-key-1')).status).toBe(200);
      const limited = await as('slow-key-1');
      expect(limited.status).toBe(429);
      expect(await limited.json()).toMatchObject({ code: 'rate_limited' });
      expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(60);

      const first = as('narrow-key-1');
      await until(async () => (await metric('shoal_in_flight{model="one"}')) === 1);
      const second = await as('narrow-key-1');
      expect(await second.json()).toMatchObject({ code: 'concurrency_limited' });
      expect((await as('free-key-1')).status).toBe(200);
      expect((await first).status).toBe(200);
      expect((await as('narrow-key-1')).status).toBe(200);
      expect(await metric('shoal_tenant_requests_total{tenant="free",outcome="ok"}')).toBe(1);
      expect(await metric('shoal_tenant_requests_total{tenant="slow",outcome="rejected"}')).toBe(1);
    });

    const metric = async (series: string): Promise<number> => {
      const headers = { 'x-api-key': 'free-key-1' };
      const text = await (await fetch(`${server.url}/metrics`, { headers })).text();
      const line = text.split('\n').find((one) => one.startsWith(`${series} `));
      return Number(line?.split(' ').at(-1) ?? 0);
    };

    it('serves each its share, however much one of them sends', async () => {
      server = await TestServer.start([
        stubModels({ one: { sleep_ms: 20 } }),
        ...ONE_BY_ONE,
        ...config({
          tenants: [
            { name: 'greedy', api_key: 'greedy-key-1' },
            { name: 'free', api_key: 'free-key-1' },
          ],
        }),
      ]);
      const order: string[] = [];
      const all = Array.from({ length: 40 }, () =>
        as('greedy-key-1').then(() => order.push('greedy')),
      );
      await until(async () => (await metric('shoal_queue_depth{model="one"}')) >= 20);
      const modest = Array.from({ length: 5 }, () =>
        as('free-key-1').then(() => order.push('free')),
      );
      await Promise.all([...all, ...modest]);
      const [first, last] = [order.indexOf('free'), order.lastIndexOf('free')];
      // Five in turn with five others, and what was being answered in between.
      expect(last - first).toBeLessThanOrEqual(14);
      expect(order.length - last).toBeGreaterThan(5);
    });
  });
});
