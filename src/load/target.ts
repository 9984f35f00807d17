import { once } from 'node:events';
import { connect } from 'node:net';

/** Where requests go. The address is looked up once, since that would cost more than a request. */
export interface Target {
  readonly address: string;
  readonly port: number;
  /** The name to ask for in TLS, where the address speaks it. */
  readonly tlsName: string | undefined;
  /** The `Host` header. */
  readonly host: string;
}

/**
 * Finds the address of a URL that accepts connections: a name may have several.
 * @throws what connecting throws
 */
export async function locate(url: URL, timeoutMs = 5000): Promise<Target> {
  const isTls = url.protocol === 'https:';
  const name = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = Number(url.port) || (isTls ? 443 : 80);
  const socket = connect({ host: name, port });
  const timer = setTimeout(() => {
    const error = Object.assign(new Error('no connection in time'), { code: 'ETIMEDOUT' });
    socket.destroy(error);
  }, timeoutMs);
  try {
    await once(socket, 'connect');
    const address = socket.remoteAddress ?? name;
    return { address, port, tlsName: isTls ? name : undefined, host: url.host };
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}
