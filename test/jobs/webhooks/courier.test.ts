import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ConfigError } from '../../../src/config/load.js';
import type { Consumer, DeliveryVerdict } from '../../../src/jobs/job-store.js';
import {
  type CourierDeps,
  type CourierSettings,
  decide,
  startCourier,
} from '../../../src/jobs/webhooks/courier.js';
import { MAX_ATTEMPTS } from '../../../src/jobs/webhooks/schedule.js';
import { Metrics } from '../../../src/telemetry/metrics.js';
import { FakeStore } from './fake-store.js';
import { job, SECRETS } from './parcels.js';
import { Receiver } from './receiver.js';

const [one, two, own] = SECRETS;
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
});

async function receive(answer: RequestListener): Promise<Receiver> {
  const receiver = await Receiver.http(answer);
  open.push(receiver);
  return receiver;
}

interface Setup {
  readonly store: FakeStore;
  readonly courier: Consumer;
  readonly lines: string[];
  /** How many there were of each outcome. */
  readonly counts: () => Promise<Record<string, number>>;
}

function setUp(
  settings: Partial<CourierSettings> = {},
  network: CourierDeps['network'] = {},
): Setup {
  const store = new FakeStore();
  const metrics = new Metrics();
  const lines: string[] = [];
  const note = (level: string) => (line: unknown, text?: string) => {
    lines.push(JSON.stringify({ level, line, text }));
  };
  const log = {
    error: note('error'),
    warn: note('warn'),
    info: note('info'),
    debug: note('debug'),
  };
  const config: CourierSettings = {
    webhook_secrets: [one, two],
    tenants: [{ name: 'own', api_key: 'own-key-1', webhook_secret: own }],
    webhook_allow: ['127.0.0.1'],
    webhook_timeout_ms: 60_000,
    ...settings,
  };
  const courier = startCourier({ store, config, log, metrics, network });
  open.push(courier);
  const counts = async (): Promise<Record<string, number>> => {
    const found = (await metrics.render()).matchAll(
      /^shoal_webhook_deliveries_total\{outcome="(\w+)"\} (\d+)$/gm,
    );
    return Object.fromEntries(
      [...found].map(([, outcome = '', count]) => [outcome, Number(count)]),
    );
  };
  return { store, courier, lines, counts };
}

/** As a receiver would do it, with no code of this project. */
function isSigned(request: Receiver['requests'][number], secret: string): boolean {
  const header = (name: string): string => String(request.headers[`webhook-${name}`]);
  const key = Buffer.from(secret.slice(6), 'base64');
  const signed = `${header('id')}.${header('timestamp')}.${request.body}`;
  const expected = createHmac('sha256', key).update(signed).digest('base64');
  return header('signature').split(' ').includes(`v1,${expected}`);
}

describe('the courier', () => {
  it('delivers a signed message', async () => {
    const { store, lines, counts } = setUp();
    const receiver = await receive((_, response) => response.writeHead(204).end());
    expect(await store.give(receiver.url())).toEqual({ kind: 'delivered' });
    const [request] = receiver.requests;
    if (request === undefined) throw new Error('nothing came');
    expect(request.headers).toMatchObject({ 'content-type': 'application/json' });
    expect(JSON.parse(request.body)).toMatchObject({
      type: 'job.completed',
      data: { model: 'cats' },
    });
    expect([one, two, own].map((secret) => isSigned(request, secret))).toEqual([true, true, false]);
    const age = Date.now() / 1000 - Number(request.headers['webhook-timestamp']);
    expect(Math.abs(age)).toBeLessThan(60);
    expect(await counts()).toEqual({ delivered: 1 });
    expect(lines).toEqual([]);
  });

  it('signs for a tenant with its own secret only', async () => {
    const { store } = setUp();
    const receiver = await receive((_, response) => response.end());
    await store.give(receiver.url(), { job: job({ owner: 'tenant:own' }) });
    const [request] = receiver.requests;
    if (request === undefined) throw new Error('nothing came');
    expect([one, two, own].map((secret) => isSigned(request, secret))).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('sends the same id and the same bytes in every attempt', async () => {
    const { store, counts } = setUp();
    const receiver = await receive((_, response) => response.writeHead(500).end());
    for (const attempt of [1, 2, 3]) {
      const webhook = { state: 'pending', attempts: attempt - 1 } as const;
      const verdict = await store.give(receiver.url(), { attempt, job: job({ webhook }) });
      expect(verdict).toMatchObject({ kind: 'retry', reason: 'status_500', isCounted: true });
    }
    expect(new Set(receiver.requests.map(({ body }) => body)).size).toBe(1);
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(receiver.requests.every((request) => isSigned(request, one))).toBe(true);
    expect(await counts()).toEqual({ retried: 3 });
  });

  it.each([
    ['after the last attempt', 500, MAX_ATTEMPTS],
    ['at once when the receiver is gone for good', 410, 1],
  ])('gives up %s, and says so without the URL', async (_, status, attempt) => {
    const { store, lines, counts } = setUp();
    const receiver = await receive((_request, response) =>
      response.writeHead(status, 'private reason').end('private body'),
    );
    const verdict = await store.give(receiver.url('127.0.0.1', '/private?key=private'), {
      attempt,
    });
    expect(verdict).toEqual({ kind: 'abandoned', reason: `status_${String(status)}` });
    expect(await counts()).toEqual({ abandoned: 1 });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('"level":"warn"');
    expect(lines[0]).toContain(job().id);
    expect(lines[0]).toContain('127.0.0.1');
    expect(lines[0]).not.toContain('private');
  });

  it('sends nothing that it cannot sign, and tries again later', async () => {
    const { store } = setUp({ webhook_secrets: [] });
    const receiver = await receive((_, response) => response.end());
    const verdict = await store.give(receiver.url());
    expect(verdict).toMatchObject({ kind: 'retry', reason: 'no_secret', isCounted: true });
    expect(receiver.connections).toBe(0);
  });

  it('does not call what is no longer allowed', async () => {
    const { store } = setUp({ webhook_allow: [] });
    const receiver = await receive((_, response) => response.end());
    const verdict = await store.give(receiver.url());
    expect(verdict).toMatchObject({ kind: 'retry', reason: 'refused_address' });
    expect(receiver.connections).toBe(0);
  });

  it('survives a job that it cannot write about, and a URL that is none', async () => {
    const { store } = setUp();
    const verdict = await store.give('http://127.0.0.1/', { job: job({ state: 'running' }) });
    expect(verdict).toMatchObject({ kind: 'retry', reason: 'internal' });
    expect(await store.give('nonsense')).toMatchObject({ reason: 'refused_address' });
  });

  it('has 32 slots, of which one receiver that never answers holds four', async () => {
    const { store, courier, counts } = setUp();
    expect(store.options?.slots).toBe(32);
    const silent = await receive(() => undefined);
    const held = Array.from({ length: 4 }, () => store.give(silent.url()));
    const verdict = await store.give(silent.url('127.0.0.1', '/elsewhere'));
    expect(verdict).toMatchObject({ kind: 'retry', reason: 'busy', isCounted: false });
    expect(courier.active).toBe(4);
    expect(courier.movedAt).toBe(7);
    expect(await counts()).toEqual({});
    await courier.close();
    expect(await Promise.all(held)).toEqual(held.map(() => ({ kind: 'released' })));
  });

  it('has half of its slots for one owner, wherever the webhooks go', async () => {
    const { store, courier } = setUp({}, { resolve: () => new Promise(() => undefined) });
    const give = (host: string, owner: string): Promise<DeliveryVerdict> =>
      store.give(`https://${host}.example/`, { job: job({ owner }) });
    const held = Array.from({ length: 16 }, (_, at) => give(`a${String(at)}`, 'anna'));
    const verdict = await give('b', 'anna');
    expect(verdict).toMatchObject({ kind: 'retry', reason: 'busy', isCounted: false });
    held.push(give('b', 'bert'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(courier.active).toBe(17);
    await courier.close();
    expect(await Promise.all(held)).toEqual(held.map(() => ({ kind: 'released' })));
  });

  it('counts nothing for the owner while a host has no room', async () => {
    const { store, courier } = setUp({}, { resolve: () => new Promise(() => undefined) });
    const held = Array.from({ length: 4 }, () => store.give('https://a.example/'));
    for (let n = 0; n < 20; n++) await store.give('https://a.example/');
    held.push(
      ...Array.from({ length: 12 }, (_, at) => store.give(`https://b${String(at)}.example/`)),
    );
    await new Promise((resolve) => setImmediate(resolve));
    expect(courier.active).toBe(16);
    await courier.close();
    await Promise.all(held);
  });

  it('has room at a host again when an attempt is over', async () => {
    const { store } = setUp();
    const receiver = await receive((_, response) => response.end());
    for (let index = 0; index < 8; index++) {
      expect(await store.give(receiver.url())).toEqual({ kind: 'delivered' });
    }
  });

  it('lets go of everything when it is closed', async () => {
    const { store, courier, lines, counts } = setUp();
    const sockets: Socket[] = [];
    const receiver = await Receiver.tcp((socket) => sockets.push(socket));
    open.push(receiver);
    const verdicts = [1, 2].map(() => store.give(receiver.url()));
    while (sockets.length < 2) await new Promise((resolve) => setImmediate(resolve));
    const ends = sockets.map((socket) => once(socket.resume(), 'close'));
    await courier.close();
    expect(store.isClosed).toBe(true);
    expect(await Promise.all(verdicts)).toEqual([{ kind: 'released' }, { kind: 'released' }]);
    await Promise.all(ends);
    expect(await store.give(receiver.url())).toEqual({ kind: 'released' });
    expect(sockets).toHaveLength(2);
    expect([lines, await counts()]).toEqual([[], {}]);
  });

  it('does not start with a list of addresses that cannot be read', () => {
    expect(() => setUp({ webhook_allow: ['home'] })).toThrow(ConfigError);
  });
});

describe('what follows from an attempt', () => {
  it('is a later attempt, not before the receiver wants it', () => {
    const reason = 'status_429' as const;
    expect(decide(1, { kind: 'failed', reason, retryAfterMs: 60_000 }, 0)).toEqual({
      kind: 'retry',
      delayMs: 60_000,
      reason,
      isCounted: true,
    });
    expect(decide(1, { kind: 'failed', reason }, 0)).toMatchObject({ delayMs: 5000 });
  });
});
