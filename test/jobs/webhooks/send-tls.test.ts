import { connect } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { certify, type Certificate } from './certificate.js';
import { attempt, type Conditions } from './parcels.js';
import { Receiver } from './receiver.js';

const good = certify(['receiver.example', '127.0.0.1']);
const open: Receiver[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(open.splice(0).map((receiver) => receiver.close()));
});

async function receive(certificate: Certificate = good): Promise<Receiver> {
  const receiver = await Receiver.http((_, response) => response.end(), certificate);
  open.push(receiver);
  return receiver;
}
const resolve = (): Promise<readonly string[]> => Promise.resolve(['127.0.0.1']);
const trusting: Conditions = { resolve, ca: good.cert };
const failed = { kind: 'failed', reason: 'tls' };

describe('an attempt over TLS', () => {
  it.each(['receiver.example', 'receiver.example.', 'RECEIVER.example', '127.0.0.1'])(
    'reaches %s, whose certificate is trusted',
    async (host) => {
      const receiver = await receive();
      expect(await attempt(receiver.url(host, '/x', 'https'), trusting)).toEqual({
        kind: 'delivered',
      });
      expect(receiver.requests[0]).toMatchObject({ path: '/x', body: '{"a":1}' });
    },
  );

  it('fails when nobody vouches for the certificate', async () => {
    const receiver = await receive();
    const url = receiver.url('receiver.example', '/x', 'https');
    expect(await attempt(url, { resolve })).toEqual(failed);
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    expect(await attempt(url, { resolve })).toEqual(failed);
    expect(receiver.requests).toEqual([]);
  });

  it.each(['other.example', 'localhost', 'a.receiver.example'])(
    'fails when the certificate is not for %s',
    async (host) => {
      const receiver = await receive();
      expect(await attempt(receiver.url(host, '/x', 'https'), trusting)).toEqual(failed);
      expect(receiver.requests).toEqual([]);
    },
  );

  it('fails when the certificate is for a name and an address was called', async () => {
    const certificate = certify(['receiver.example']);
    const receiver = await receive(certificate);
    const url = receiver.url('127.0.0.1', '/x', 'https');
    expect(await attempt(url, { ca: certificate.cert })).toEqual(failed);
  });

  it('fails when the certificate is too old', async () => {
    const certificate = certify(['receiver.example'], Date.now() - 86_400_000);
    const receiver = await receive(certificate);
    const url = receiver.url('receiver.example', '/x', 'https');
    expect(await attempt(url, { resolve, ca: certificate.cert })).toEqual(failed);
  });

  it.each([
    ['speaks no TLS', 'HTTP/1.1 200 OK\r\n\r\n'],
    ['hangs up', ''],
  ])('fails when the receiver %s', async (_, text) => {
    const receiver = await Receiver.tcp((socket) => socket.once('data', () => socket.end(text)));
    open.push(receiver);
    expect(await attempt(receiver.url('127.0.0.1', '/', 'https'))).toEqual(failed);
  });

  it('fails when the handshake takes too long', async () => {
    const receiver = await Receiver.tcp((socket) => socket.resume());
    open.push(receiver);
    const outcome = await attempt(receiver.url('127.0.0.1', '/', 'https'), { timeoutMs: 100 });
    expect(outcome).toEqual({ kind: 'failed', reason: 'timeout' });
  });

  it('says nothing, not even a greeting, to somebody else than was called', async () => {
    const receiver = await receive();
    const outcome = await attempt(receiver.url('receiver.example', '/x', 'https'), {
      allow: [],
      resolve: () => Promise.resolve(['93.184.215.14']),
      connect: () => connect(receiver.port, '127.0.0.1'),
    });
    expect(outcome).toEqual({ kind: 'failed', reason: 'refused_address' });
    await receiver.left();
    expect([receiver.connections, receiver.bytes]).toEqual([1, 0]);
  });
});
