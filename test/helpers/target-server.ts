import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net';
import { PreparedRequest } from '../../src/load/prepared-request.js';
import { locate, type Target } from '../../src/load/target.js';

/** A small server for the load generator to talk to, and what it saw. */
export class TargetServer {
  readonly #server: Server;
  readonly target: Target;
  readonly sockets: Set<Socket>;

  private constructor(server: Server, target: Target, sockets: Set<Socket>) {
    this.#server = server;
    this.target = target;
    this.sockets = sockets;
  }

  /** @param answer is called when the head is there */
  static http(
    answer: (request: IncomingMessage, response: ServerResponse) => void,
  ): Promise<TargetServer> {
    return TargetServer.#listen(createServer(answer));
  }

  static tcp(onSocket: (socket: Socket) => void): Promise<TargetServer> {
    return TargetServer.#listen(createTcpServer(onSocket));
  }

  static async #listen(server: Server): Promise<TargetServer> {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const target = await locate(new URL(`http://127.0.0.1:${String(port)}`));
    // From here on, so that the look-up is not among them.
    const sockets = new Set<Socket>();
    server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => undefined)));
    return new TargetServer(server, target, sockets);
  }

  request(body = Buffer.from('picture')): [PreparedRequest] {
    return [new PreparedRequest(body, { host: this.target.host, path: '/predict', form: 'raw' })];
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
