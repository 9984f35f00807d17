import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LOOPBACK_HOSTS, OTHER_PRIVATE_HOSTS } from './corpus.js';
import { attempt } from './parcels.js';
import { Receiver } from './receiver.js';

const PUBLIC_ADDRESS = '93.184.215.14';
const refused = { kind: 'failed', reason: 'refused_address' };

/** Stands for whatever listens on this machine and trusts whoever reaches it. */
let secret: Receiver;
beforeAll(async () => {
  secret = await Receiver.http((_, response) => response.end());
});
afterAll(() => secret.close());

describe('an attempt at something private', () => {
  it.each([...LOOPBACK_HOSTS, ...OTHER_PRIVATE_HOSTS])('is not made at %s', async (host) => {
    for (const scheme of ['http', 'https']) {
      expect(await attempt(secret.url(host, '/', scheme), { allow: [] })).toEqual(refused);
    }
  });

  it('is not seen by whoever listens', async () => {
    const listener = await Receiver.http((_, response) => response.end());
    for (const host of [...LOOPBACK_HOSTS, ...OTHER_PRIVATE_HOSTS]) {
      await attempt(listener.url(host), { allow: [] });
    }
    // Connections are seen in their order: what had come before this one would be seen, too.
    expect(await attempt(listener.url())).toEqual({ kind: 'delivered' });
    await listener.left();
    expect([listener.connections, listener.requests.length]).toEqual([1, 1]);
    expect(listener.bytes).toBeGreaterThan(0);
    await listener.close();
  });

  it.each(LOOPBACK_HOSTS)('would have reached it at %s', async (host) => {
    expect(await attempt(secret.url(host))).toEqual({ kind: 'delivered' });
  });

  it.each([
    '127.0.0.1',
    '::1',
    '::ffff:127.0.0.1',
    '0.0.0.0',
    '169.254.169.254',
    'fe80::1%lo',
    'not an address',
  ])('is not made when the name leads to %s', async (address) => {
    const resolve = (): Promise<readonly string[]> => Promise.resolve([address]);
    const url = secret.url('innocent.example');
    expect(await attempt(url, { allow: [], resolve })).toEqual(refused);
  });

  it('is made at the public one of several addresses only', async () => {
    const called: string[] = [];
    const outcome = await attempt(secret.url('mixed.example'), {
      allow: [],
      resolve: () => Promise.resolve(['127.0.0.1', PUBLIC_ADDRESS, '10.0.0.1']),
      connect: ({ host }) => {
        called.push(host);
        return connect(1, '127.0.0.1');
      },
    });
    expect(outcome).toEqual({ kind: 'failed', reason: 'connection' });
    expect(called).toEqual([PUBLIC_ADDRESS]);
  });

  it('is not made when the name leads elsewhere the second time it is looked up', async () => {
    const answers = [[PUBLIC_ADDRESS], ['127.0.0.1']];
    const called: string[] = [];
    const conditions = {
      allow: [],
      resolve: () => Promise.resolve(answers.shift() ?? ['127.0.0.1']),
      connect: ({ host }: { readonly host: string }) => {
        called.push(host);
        // What nobody answers at.
        return connect(1, '127.0.0.1');
      },
    };
    const url = secret.url('rebinding.example');
    // Looked up once, called where that said.
    expect(await attempt(url, conditions)).toEqual({ kind: 'failed', reason: 'connection' });
    expect([called, answers.length]).toEqual([[PUBLIC_ADDRESS], 1]);
    // The next attempt looks again, and is refused.
    expect(await attempt(url, conditions)).toEqual(refused);
    expect(called).toEqual([PUBLIC_ADDRESS]);
  });

  it('says nothing to somebody else than was called', async () => {
    const listener = await Receiver.http((_, response) => response.end());
    const outcome = await attempt(listener.url('innocent.example'), {
      allow: [],
      resolve: () => Promise.resolve([PUBLIC_ADDRESS]),
      connect: () => connect(listener.port, '127.0.0.1'),
    });
    expect(outcome).toEqual(refused);
    await listener.left();
    expect([listener.connections, listener.bytes, listener.requests]).toEqual([1, 0, []]);
    await listener.close();
  });
});
