import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type AddressRange, parseAddress } from './address.js';
import { Failure } from './failure.js';
import { LookupTurns } from './lookup-turns.js';
import { isPermitted, type Target } from './target.js';

/** How the network is reached. All but `allow` is replaced in tests only. */
export interface Network {
  readonly allow: readonly AddressRange[];
  /** All addresses of a name. */
  readonly resolve?: (host: string, signal: AbortSignal) => Promise<readonly string[]>;
  readonly connect?: (to: { readonly host: string; readonly port: number }) => Socket;
  /** Certificates to trust instead of the usual ones. */
  readonly ca?: string;
}

/** A name with more addresses than this is tried at the first ones only. */
const MAX_ADDRESSES = 4;

/**
 * A connection on which nothing has been written yet, to an address that was checked. The name is
 * looked up once and the connection made to one of those addresses: a second look-up could say
 * something else.
 */
export async function dial(
  target: Target,
  network: Network,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Socket> {
  const addresses = await findAddresses(target, network, signal);
  const { url } = target;
  const port = Number(url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : url.port);
  // One address that swallows packets leaves time for the others.
  const shareMs = timeoutMs / addresses.length;
  let failure: unknown;
  for (const host of addresses) {
    try {
      const socket = await reach({ host, port }, network, shareMs, signal);
      return url.protocol === 'https:' ? await secure(socket, target, network, signal) : socket;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Failure) throw error;
      failure = error;
    }
  }
  throw new Failure('connection', failure);
}

/** Those that may be called. A host that is an address is not looked up, but checked as well. */
async function findAddresses(
  { host, address }: Target,
  { allow, resolve = resolveAll }: Network,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found = address === undefined ? await abortable(resolve(host, signal), signal) : [host];
  if (found.length === 0) throw new Failure('dns');
  const permitted = found.filter((text) => {
    const one = parseAddress(text);
    return one !== undefined && isPermitted(one, allow);
  });
  if (permitted.length === 0) throw new Failure('refused_address');
  return permitted.slice(0, MAX_ADDRESSES);
}

/** For the whole process, whoever's webhooks they are. */
const turns = new LookupTurns(async (host) => {
  const found = await lookup(host, { all: true, verbatim: true });
  return found.map(({ address }) => address);
});

function resolveAll(host: string, signal: AbortSignal): Promise<readonly string[]> {
  return turns.resolve(host, signal);
}

/** Look-ups cannot be stopped, only be left behind. */
async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener(
      'abort',
      () => {
        reject(new Failure('timeout'));
      },
      { once: true },
    );
  });
  try {
    return await Promise.race([promise, aborted]);
  } catch (error) {
    throw new Failure('dns', error);
  }
}

async function reach(
  to: { readonly host: string; readonly port: number },
  { connect = connectTcp }: Network,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Socket> {
  const socket = connect(to).on('error', () => undefined);
  const timer = setTimeout(() => {
    socket.destroy(new Error('no connection in time'));
  }, timeoutMs);
  try {
    await once(socket, 'connect', { signal });
    if (!isPeer(socket, to.host)) throw new Failure('refused_address');
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Whoever answers must be the one that was called, before it is told anything. */
function isPeer({ remoteAddress }: Socket, host: string): boolean {
  const [peer, called] = [remoteAddress, host].map((text) => parseAddress(text ?? ''));
  return peer !== undefined && peer.family === called?.family && peer.value === called.value;
}

async function secure(
  socket: Socket,
  { host }: Target,
  { ca }: Network,
  signal: AbortSignal,
): Promise<Socket> {
  const secured = connectTls({
    socket,
    // The certificate must be for this; for an address there is no name to ask for.
    host,
    ...(isIP(host) === 0 && { servername: host }),
    ...(ca !== undefined && { ca }),
    ALPNProtocols: ['http/1.1'],
    // Said here, no environment variable can say otherwise.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
  }).on('error', () => undefined);
  try {
    await once(secured, 'secureConnect', { signal });
    return secured;
  } catch (error) {
    secured.destroy();
    socket.destroy();
    throw new Failure('tls', error);
  }
}
