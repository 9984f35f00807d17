import { afterEach, describe, expect, it } from 'vitest';
import { runClosedLoop } from '../../src/load/closed-loop.js';
import { TargetServer } from '../helpers/target-server.js';

describe('the closed loop', () => {
  let server: TargetServer;
  afterEach(() => server.close());

  /** Stops the run when the server has seen `count` requests. */
  function stopAfter(count: number): { signal: AbortSignal; see: () => void; seen: () => number } {
    const stop = new AbortController();
    let seen = 0;
    const see = (): void => {
      if (++seen === count) stop.abort();
    };
    return { signal: stop.signal, see, seen: () => seen };
  }
  const patient = { seconds: 3600, timeoutMs: 120_000 };

  it('has one request per client under way, on a connection that is kept', async () => {
    const { signal, see, seen } = stopAfter(50);
    let [inside, most] = [0, 0];
    server = await TargetServer.http((request, response) => {
      most = Math.max(most, ++inside);
      request.resume().on('end', () => {
        inside--;
        response.end('{}');
        see();
      });
    });
    const { result } = await runClosedLoop({
      target: server.target,
      requests: server.request(),
      concurrency: 4,
      signal,
      ...patient,
    });
    expect(result).toMatchObject({ sent: seen(), ok: seen(), errors: {}, unsent: 0 });
    expect(most).toBeLessThanOrEqual(4);
    expect(server.sockets.size).toBe(4);
  });

  it('reads a refusal that comes before the body is read, and uses the connection again', async () => {
    const body = Buffer.alloc(16 * 2 ** 20);
    const { signal, see, seen } = stopAfter(3);
    server = await TargetServer.http((request, response) => {
      response.writeHead(429, { 'content-length': 2 }).end('no', () => {
        see();
        // The client has its answer while most of the body is not even sent.
        setImmediate(() => request.resume());
      });
    });
    const { result } = await runClosedLoop({
      target: server.target,
      requests: server.request(body),
      concurrency: 1,
      signal,
      ...patient,
    });
    expect(result).toMatchObject({ sent: seen(), statuses: { 429: seen() }, errors: {} });
    expect(server.sockets.size).toBe(1);
  });

  it('goes on after errors', async () => {
    const { signal, see, seen } = stopAfter(6);
    server = await TargetServer.http((request, response) => {
      see();
      if (seen() % 2 === 0) response.end();
      else request.socket.resetAndDestroy();
    });
    const { result } = await runClosedLoop({
      target: server.target,
      requests: server.request(),
      concurrency: 1,
      signal,
      ...patient,
    });
    expect(result).toMatchObject({ ok: 3, errors: { ECONNRESET: 3 } });
  });
});
