import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { runOpenLoop } from '../../src/load/open-loop.js';
import { TargetServer } from '../helpers/target-server.js';

describe('refused clients', () => {
  let server: TargetServer;
  afterEach(() => server.close());

  /** Which connections each id came on, in order. */
  const seen = new Map<string, Socket[]>();
  const see = (request: IncomingMessage): number => {
    const id = request.headers['x-request-id'] as string;
    const sockets = seen.get(id) ?? [];
    seen.set(id, [...sockets, request.socket]);
    return sockets.length;
  };
  const refuse = (response: ServerResponse, headers: Record<string, string>): void => {
    response.writeHead(429, { 'content-length': 2, ...headers }).end('no');
  };

  /** Runs until as many retries have come as asked for, or without them until 40 requests have. */
  async function runWith(
    answer: (response: ServerResponse, earlier: number) => void,
    { retries = 0, retryShare = 1 },
  ) {
    seen.clear();
    const stop = new AbortController();
    let again = 0;
    server = await TargetServer.http((request, response) => {
      const earlier = see(request);
      answer(response, earlier);
      if (earlier > 0) again++;
      if (retries === 0 ? seen.size === 40 : again === retries) stop.abort();
    });
    const { result } = await runOpenLoop({
      target: server.target,
      requests: server.request(),
      arrivals: 'steady',
      rate: 200,
      seconds: 3600,
      timeoutMs: 120_000,
      signal: stop.signal,
      retryShare,
    });
    const { honoured, admitted, refusedAgain, gaveUp, failed, pending } = result.retries;
    expect(admitted + refusedAgain + gaveUp + failed + pending).toBe(honoured);
    expect(result.refused + result.ok).toBe(result.sent);
    return { result, twice: [...seen.values()].filter(({ length }) => length > 1) };
  }

  it('come back with the same id on the same connection, once', async () => {
    const { result, twice } = await runWith(
      (response, earlier) => {
        if (earlier === 0) refuse(response, { 'retry-after': '0' });
        else response.end();
      },
      { retries: 10 },
    );
    expect(result).toMatchObject({ ok: 0, refused: result.sent });
    expect(result.retries).toMatchObject({ honoured: result.sent, refusedAgain: 0, failed: 0 });
    expect(result.retries.admitted).toBeGreaterThanOrEqual(10);
    expect(result.retries.latencyMs?.count).toBe(result.retries.admitted);
    expect(result.goodput).toBeGreaterThan(0);
    expect(twice).toHaveLength(result.retries.admitted);
    for (const sockets of twice) {
      expect(sockets).toHaveLength(2);
      expect(sockets[0]).toBe(sockets[1]);
    }
  });

  it('come back on another connection where theirs was closed', async () => {
    const { result, twice } = await runWith(
      (response, earlier) => {
        if (earlier === 0) refuse(response, { 'retry-after': '0', connection: 'close' });
        else response.end();
      },
      { retries: 5 },
    );
    expect(result.retries.admitted).toBe(twice.length);
    for (const [first, second] of twice) expect(first).not.toBe(second);
  });

  it('do not come a third time', async () => {
    const { result, twice } = await runWith(
      (response) => {
        refuse(response, { 'retry-after': '0' });
      },
      { retries: 5 },
    );
    expect(result.retries).toMatchObject({ admitted: 0, latencyMs: null });
    expect(result.retries.refusedAgain).toBe(twice.length);
    for (const sockets of twice) expect(sockets).toHaveLength(2);
  });

  it('keep their connection to themselves while they wait', async () => {
    const { result } = await runWith((response) => {
      refuse(response, { 'retry-after': '3000', 'keep-alive': 'timeout=3600' });
    }, {});
    expect(result.retries).toMatchObject({ honoured: result.sent, pending: result.sent });
    expect(server.sockets.size).toBe(result.sent);
  });

  it('do not wait for what comes after the end', async () => {
    const { result } = await runWith((response) => {
      refuse(response, { 'retry-after': '7200' });
    }, {});
    expect(result.retries).toMatchObject({ honoured: result.sent, pending: result.sent });
  });

  it('come back in the share that was asked for, and only if told when', async () => {
    const { result } = await runWith(
      (response) => {
        refuse(response, { 'retry-after': '7200' });
      },
      { retryShare: 0.5 },
    );
    // The draws depend on the seed alone.
    expect(result.retries.honoured / result.sent).toBeGreaterThan(0.25);
    expect(result.retries.honoured / result.sent).toBeLessThan(0.75);
    await server.close();
    const untold = await runWith((response) => {
      refuse(response, {});
    }, {});
    expect(untold.result.retries.honoured).toBe(0);
  });
});
