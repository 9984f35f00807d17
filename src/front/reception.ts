import { lookup } from 'node:dns/promises';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Address } from '../http/entrance.js';

/** Whoever takes connections, one after the other. */
export interface Receiver {
  /** It has as many as it may have. */
  readonly isFull: boolean;
  /** @param done it has the connection, and could take another */
  take(socket: Socket, done: () => void): void;
}

/**
 * Holds the port and hands out connections in turn. One that cannot be handed out yet waits here,
 * so a receiver that ends takes with it only what it has.
 */
export class Reception {
  readonly #servers: Server[] = [];
  readonly #waiting: Socket[] = [];
  /** Those that could take one now; who has waited longest comes first. */
  readonly #free: Receiver[] = [];
  readonly #known = new Set<Receiver>();
  readonly #maxWaiting: number;

  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  /** @throws when the port cannot be had */
  async open(host: string, port: number): Promise<Address> {
    const [first, ...others] = await addressesOf(host);
    const address = await this.#listen(first ?? host, port);
    for (const other of others) {
      // The name has two addresses; one of them is enough where the other cannot be had.
      await this.#listen(other, address.port).catch(() => undefined);
    }
    return address;
  }

  add(receiver: Receiver): void {
    this.#known.add(receiver);
    this.#free.push(receiver);
    this.#handOut();
  }

  remove(receiver: Receiver): void {
    this.#known.delete(receiver);
    const at = this.#free.indexOf(receiver);
    if (at >= 0) this.#free.splice(at, 1);
  }

  /** No more connections are taken; those that wait are still handed out. */
  close(): void {
    for (const server of this.#servers) server.close();
  }

  #listen(host: string, port: number): Promise<Address> {
    return new Promise((resolve, reject) => {
      const server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
        if (this.#waiting.length >= this.#maxWaiting) {
          socket.destroy();
          return;
        }
        this.#waiting.push(socket);
        this.#handOut();
      });
      // Later ones, such as no descriptors for one more connection, end nothing.
      server.on('error', reject);
      server.listen({ host, port }, () => {
        this.#servers.push(server);
        resolve(server.address() as AddressInfo);
      });
    });
  }

  #handOut(): void {
    while (this.#waiting.length > 0) {
      const at = this.#free.findIndex(({ isFull }) => !isFull);
      const [receiver] = at < 0 ? [] : this.#free.splice(at, 1);
      if (receiver === undefined) {
        this.#refuseIfFull();
        return;
      }
      const socket = this.#waiting.shift() as Socket;
      receiver.take(socket, () => {
        if (!this.#known.has(receiver)) return;
        this.#free.push(receiver);
        this.#handOut();
      });
    }
  }

  /** Those that wait for a receiver to start or to take the one before have a chance. */
  #refuseIfFull(): void {
    if (this.#known.size === 0 || [...this.#known].some(({ isFull }) => !isFull)) return;
    for (const socket of this.#waiting.splice(0)) socket.destroy();
  }
}

async function addressesOf(host: string): Promise<string[]> {
  if (host !== 'localhost') return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}
