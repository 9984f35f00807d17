import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net';
import type { Certificate } from './certificate.js';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Somebody who waits for webhooks on loopback, and what came. */
export class Receiver {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Whole requests. */
  readonly requests: Received[] = [];
  connections = 0;
  /** Of all connections, requests or not. */
  bytes = 0;

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.connections++;
      this.#sockets.add(socket.on('error', () => undefined));
      socket.on('close', () => {
        this.#sockets.delete(socket);
        this.bytes += socket.bytesRead;
      });
    });
  }

  /** @param answer is called when the whole request is there */
  static http(answer: RequestListener, certificate?: Certificate): Promise<Receiver> {
    const listener: RequestListener = (request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const { method = '', url: path = '', headers } = request;
        const body = Buffer.concat(pieces).toString();
        receiver.requests.push({ method, path, headers, body });
        answer(request, response);
      });
    };
    const server =
      certificate === undefined
        ? createServer(listener)
        : createSecureServer({ ...certificate }, listener).on('tlsClientError', () => undefined);
    const receiver = new Receiver(server);
    return receiver.#listen();
  }

  static tcp(onSocket: (socket: Socket) => void): Promise<Receiver> {
    return new Receiver(createTcpServer(onSocket)).#listen();
  }

  async #listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(host = '127.0.0.1', path = '/hook', scheme = 'http'): string {
    return `${scheme}://${host}:${String(this.port)}${path}`;
  }

  /** Resolves when somebody has come and everybody has left; `bytes` is complete then. */
  async left(): Promise<void> {
    while (this.connections === 0 || this.#sockets.size > 0) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
