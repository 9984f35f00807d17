import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Cancellation } from '../../../src/cancellation.js';
import { parseAllow } from '../../../src/jobs/webhooks/target.js';
import { attempt } from './parcels.js';
import { Receiver } from './receiver.js';

const open: Receiver[] = [];
async function receive(answer: RequestListener): Promise<Receiver> {
  const receiver = await Receiver.http(answer);
  open.push(receiver);
  return receiver;
}
async function receiveTcp(onSocket: (socket: Socket) => void): Promise<Receiver> {
  const receiver = await Receiver.tcp(onSocket);
  open.push(receiver);
  return receiver;
}
afterEach(async () => {
  await Promise.all(open.splice(0).map((receiver) => receiver.close()));
});

/** What a receiver without manners sends when the request is there. */
function raw(text: string): (socket: Socket) => void {
  return (socket) => socket.once('data', () => socket.write(text));
}

describe('an attempt', () => {
  it.each([200, 201, 202, 204, 299])('is a success when the answer is %d', async (status) => {
    const receiver = await receive((_, response) => response.writeHead(status).end());
    const url = receiver.url('127.0.0.1', '/a%20b?c=d#e');
    expect(await attempt(url)).toEqual({ kind: 'delivered' });
    const [request] = receiver.requests;
    expect(request).toMatchObject({ method: 'POST', path: '/a%20b?c=d', body: '{"a":1}' });
    expect(request?.headers).toEqual({
      'x-mark': 'yes',
      host: `127.0.0.1:${String(receiver.port)}`,
      'content-length': '7',
      connection: 'close',
    });
  });

  it.each([300, 304, 400, 401, 404, 410, 500, 502])('fails when it is %d', async (status) => {
    const receiver = await receive((_, response) => response.writeHead(status).end('secret text'));
    const outcome = await attempt(receiver.url());
    expect(outcome).toEqual({ kind: 'failed', reason: `status_${String(status)}` });
  });

  it.each([
    [429, '7', 7000],
    [503, '7200', 3_600_000],
    [503, 'later', undefined],
    [500, '7', undefined],
  ])('passes on what a %d asks for', async (status, header, retryAfterMs) => {
    const receiver = await receive((_, response) =>
      response.writeHead(status, { 'retry-after': header }).end(),
    );
    expect(await attempt(receiver.url())).toEqual({
      kind: 'failed',
      reason: `status_${String(status)}`,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    });
  });

  it.each([301, 302, 303, 307, 308])('does not follow a %d', async (status) => {
    const hidden = await receive((_, response) => response.end());
    const receiver = await receive((_, response) =>
      response.writeHead(status, { location: hidden.url() }).end(),
    );
    const reason = `status_${String(status)}`;
    expect(await attempt(receiver.url())).toEqual({ kind: 'failed', reason });
    // Connections are seen in their order: one that had come before this would be seen, too.
    await attempt(hidden.url());
    expect(hidden.connections).toBe(1);
  });

  it('uses a connection of its own every time', async () => {
    const receiver = await receive((_, response) => response.end());
    for (let index = 0; index < 3; index++) await attempt(receiver.url());
    expect(receiver.connections).toBe(3);
  });

  it('fails when nobody answers in time', async () => {
    const receiver = await receive(() => undefined);
    const outcome = await attempt(receiver.url(), { timeoutMs: 100 });
    expect(outcome).toEqual({ kind: 'failed', reason: 'timeout' });
  });

  it('fails when the look-up takes too long', async () => {
    const outcome = await attempt('http://receiver.example/', {
      timeoutMs: 50,
      resolve: () => new Promise(() => undefined),
    });
    expect(outcome).toEqual({ kind: 'failed', reason: 'timeout' });
  });

  it.each([
    ['leads nowhere', () => Promise.reject(new Error('ENOTFOUND receiver.example'))],
    ['has no address', () => Promise.resolve([])],
  ])('fails when the name %s', async (_, resolve) => {
    const outcome = await attempt('http://receiver.example/', { resolve });
    expect(outcome).toEqual({ kind: 'failed', reason: 'dns' });
  });

  it('fails when nobody listens', async () => {
    const receiver = await receive(() => undefined);
    const url = receiver.url();
    await receiver.close();
    open.length = 0;
    expect(await attempt(url)).toEqual({ kind: 'failed', reason: 'connection' });
  });

  it('tries the next address when nobody listens at the first', async () => {
    const receiver = await receive((_, response) => response.end());
    const addresses = ['::1', '127.0.0.1'];
    const outcome = await attempt(receiver.url('receiver.example'), {
      allow: parseAllow(addresses),
      resolve: () => Promise.resolve(addresses),
    });
    expect(outcome).toEqual({ kind: 'delivered' });
    expect(receiver.requests[0]?.headers.host).toBe(`receiver.example:${String(receiver.port)}`);
  });

  it.each<[string, string, (socket: Socket) => void]>([
    ['is cut off', 'connection', (socket) => socket.once('data', () => socket.resetAndDestroy())],
    ['is closed', 'connection', (socket) => socket.once('data', () => socket.end())],
    ['is cut off at once', 'connection', (socket) => socket.resetAndDestroy()],
    ['is not HTTP', 'response', raw('220 mail.example ESMTP\r\n')],
    ['has no end of headers', 'response', raw(`HTTP/1.1 200 OK\r\na: ${'b'.repeat(20_000)}`)],
    [
      'has too many headers',
      'response',
      raw(`HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(10_000)}\r\n`),
    ],
    [
      'is another protocol',
      'connection',
      raw('HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
    ],
  ])('fails when the answer %s', async (_, reason, onSocket) => {
    const receiver = await receiveTcp(onSocket);
    expect(await attempt(receiver.url())).toEqual({ kind: 'failed', reason });
  });

  it('does not wait for the rest of a large body', async () => {
    let written = 0;
    const body = Buffer.alloc(64 * 1024);
    const receiver = await receive((_, response) => {
      const pour = (): void => {
        while (written < 10 * 1024 * 1024 && !response.destroyed) {
          written += body.length;
          if (!response.write(body)) return void response.once('drain', pour);
        }
        response.end();
      };
      pour();
    });
    expect(await attempt(receiver.url())).toEqual({ kind: 'delivered' });
    expect(written).toBeLessThan(10 * 1024 * 1024);
  });

  it('does not wait for a body that drips', async () => {
    let isClosed = false;
    const receiver = await receive((_, response) => {
      response.writeHead(500);
      const timer = setInterval(() => response.write('.'), 10);
      response.on('close', () => {
        clearInterval(timer);
        isClosed = true;
      });
    });
    const outcome = await attempt(receiver.url());
    expect(outcome).toEqual({ kind: 'failed', reason: 'status_500' });
    await receiver.close();
    open.length = 0;
    expect(isClosed).toBe(true);
  });

  it('counts as a success even if the body breaks off', async () => {
    const receiver = await receive((_, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('half', () => {
        response.destroy();
      });
    });
    expect(await attempt(receiver.url())).toEqual({ kind: 'delivered' });
  });

  it('can be stopped while it waits for an answer', async () => {
    const cancellation = new Cancellation();
    const receiver = await receiveTcp((socket) => {
      socket.once('data', () => {
        cancellation.cancel(new Error('stop'));
      });
    });
    expect(await attempt(receiver.url(), { cancellation })).toEqual({ kind: 'aborted' });
  });

  it('can be stopped while it looks up the name, and before it begins', async () => {
    const cancellation = new Cancellation();
    const outcome = attempt('http://receiver.example/', {
      cancellation,
      resolve: () => new Promise(() => undefined),
    });
    cancellation.cancel(new Error('stop'));
    expect(await outcome).toEqual({ kind: 'aborted' });
    const receiver = await receive((_, response) => response.end());
    expect(await attempt(receiver.url(), { cancellation })).toEqual({ kind: 'aborted' });
    expect(receiver.connections).toBe(0);
  });

  it('leaves no connection behind', async () => {
    const sockets: Socket[] = [];
    const receiver = await receiveTcp((socket) => {
      sockets.push(socket);
      raw('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello')(socket);
    });
    expect(await attempt(receiver.url())).toEqual({ kind: 'delivered' });
    const [socket] = sockets;
    if (socket?.closed === false) await once(socket, 'close');
    expect(sockets).toHaveLength(1);
  });
});
