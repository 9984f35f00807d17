import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { runOpenLoop } from '../../src/load/open-loop.js';
import { TargetServer } from '../helpers/target-server.js';

/** Long enough that no test ends by it; where it matters, the test says so. */
const PATIENT = { timeoutMs: 120_000, arrivals: 'steady' } as const;

describe('the open loop', () => {
  let server: TargetServer;
  afterEach(() => server.close());

  it('sends all requests whole, each with an id of its own', async () => {
    const ids = new Set<string>();
    const bodies = new Set<string>();
    server = await TargetServer.http((request, response) => {
      ids.add(request.headers['x-request-id'] as string);
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString('latin1')));
      request.on('end', () => {
        bodies.add(body);
        response.end('{}');
      });
    });
    const photo = Buffer.alloc(300_000, 'abc');
    const requests = server.request(photo);
    const options = { target: server.target, requests, rate: 100, seconds: 0.2, ...PATIENT };
    const { result, okMs, okAtMs } = await runOpenLoop(options);
    expect(result).toMatchObject({
      offered: 20,
      sent: 20,
      unsent: 0,
      statuses: { 200: 20 },
      ok: 20,
      refused: 0,
      gaveUp: 0,
      errors: {},
      refusalMs: null,
      latencyMs: { count: 20 },
    });
    expect(ids.size).toBe(20);
    expect(bodies).toEqual(new Set([photo.toString('latin1')]));
    expect([okMs.length, okAtMs.length]).toEqual([20, 20]);
    expect(result.perSecond.reduce((sum, { ok }) => sum + ok, 0)).toBe(20);
    expect(JSON.parse(JSON.stringify(result))).toEqual(result);
  });

  it('does not wait for answers before it sends more', async () => {
    const waiting: ServerResponse[] = [];
    server = await TargetServer.http((_request, response) => {
      waiting.push(response);
      if (waiting.length === 15) for (const one of waiting) one.end();
    });
    const options = { target: server.target, requests: server.request(), ...PATIENT };
    const { result } = await runOpenLoop({ ...options, rate: 100, seconds: 0.15 });
    expect(result).toMatchObject({ ok: 15, sent: 15 });
  });

  it('counts latency from the time a request was due, and says that it was late itself', async () => {
    server = await TargetServer.http((_request, response) => response.end());
    const options = { target: server.target, requests: server.request(), ...PATIENT };
    const run = runOpenLoop({ ...options, rate: 1000, seconds: 0.05 });
    const stalledUntil = performance.now() + 200;
    while (performance.now() < stalledUntil);
    const { result } = await run;
    expect(result.ok).toBe(50);
    // The first was sent before the stall; all others were due during its first quarter.
    expect(result.latencyMs?.p50).toBeGreaterThan(140);
    expect(result.latenessP99Ms).toBeGreaterThan(140);
  });

  it('gives up on a server that does not answer, and hangs up', async () => {
    server = await TargetServer.http(() => undefined);
    const options = { target: server.target, requests: server.request(), ...PATIENT };
    const { result } = await runOpenLoop({ ...options, rate: 100, seconds: 0.1, timeoutMs: 30 });
    expect(result).toMatchObject({ sent: 10, gaveUp: 10, ok: 0, statuses: {}, goodput: 0 });
    expect(result.perSecond.reduce((sum, { gaveUp }) => sum + gaveUp, 0)).toBe(10);
    for (const socket of server.sockets) if (!socket.closed) await once(socket, 'close');
    expect(server.sockets.size).toBeLessThanOrEqual(10);
  });

  it('does not send what would need more connections than it may have', async () => {
    let waiting: ServerResponse[] | undefined = [];
    server = await TargetServer.http((_request, response) => {
      if (waiting === undefined) response.end();
      else waiting.push(response);
    });
    const { result } = await runOpenLoop({
      target: server.target,
      requests: server.request(),
      ...PATIENT,
      maxSockets: 2,
      rate: 100,
      seconds: 0.1,
      // Nothing is answered before, so both connections stay busy.
      onScheduleEnd: () => {
        for (const response of waiting ?? []) response.end();
        waiting = undefined;
      },
    });
    expect(result).toMatchObject({ offered: 10, sent: 2, unsent: 8, ok: 2 });
  });

  it('opens a connection anew after "connection: close"', async () => {
    server = await TargetServer.http((_request, response) => {
      response.setHeader('connection', 'close').end('bye');
    });
    const options = { target: server.target, requests: server.request(), ...PATIENT };
    const { result } = await runOpenLoop({ ...options, rate: 100, seconds: 0.1 });
    expect(result).toMatchObject({ ok: 10, errors: {} });
    expect(server.sockets.size).toBe(10);
  });

  it('counts what servers do to connections', async () => {
    server = await TargetServer.tcp((socket) => {
      socket.once('data', () => socket.resetAndDestroy());
    });
    const options = { target: server.target, requests: server.request(), ...PATIENT };
    const { result } = await runOpenLoop({ ...options, rate: 100, seconds: 0.1 });
    expect(result).toMatchObject({ sent: 10, errors: { ECONNRESET: 10 }, ok: 0 });
  });

  it('counts connections that are refused, closed or make no sense', async () => {
    server = await TargetServer.tcp((socket) => {
      if (server.sockets.size % 2 === 0) socket.end();
      else socket.end('220 mail.example ESMTP\r\n\r\n');
    });
    const options = { target: server.target, requests: server.request(), ...PATIENT };
    const { result } = await runOpenLoop({ ...options, rate: 100, seconds: 0.1 });
    expect(result.statuses).toEqual({});
    expect(Object.values(result.errors).reduce((sum, count) => sum + count, 0)).toBe(10);

    const gone = await TargetServer.tcp(() => undefined);
    await gone.close();
    const refused = await runOpenLoop({ ...options, target: gone.target, rate: 100, seconds: 0.1 });
    expect(refused.result.errors).toEqual({ ECONNREFUSED: 10 });
  });

  it('ends early when told to, with what there is', async () => {
    const stop = new AbortController();
    let count = 0;
    server = await TargetServer.http((_request, response) => {
      response.end();
      if (++count === 5) stop.abort();
    });
    const options = { target: server.target, requests: server.request(), ...PATIENT };
    const { signal } = stop;
    const { result } = await runOpenLoop({ ...options, rate: 50, seconds: 3600, signal });
    expect(result.ok).toBe(result.sent);
    expect(result.ok).toBe(count);
    expect(result.seconds).toBeLessThan(3600);
    const none = await runOpenLoop({ ...options, rate: 50, seconds: 3600, signal });
    expect(none.result).toMatchObject({ sent: 0, goodput: 0, latencyMs: null });
  });
});
