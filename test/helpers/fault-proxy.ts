import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * - `pass`: bytes go both ways.
 * - `refuse`: nobody listens; connections that were open are closed.
 * - `reset`: connections are reset, new ones as soon as they are made.
 * - `blackhole`: connections stay open and are accepted, but nothing comes through any more, for
 *   these connections not even later.
 * - `half-open`: what the client sends arrives, the answers do not, and the server hangs up.
 * - a number: every chunk is late by this many milliseconds.
 */
export type FaultMode = 'pass' | 'refuse' | 'reset' | 'blackhole' | 'half-open' | number;

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
  /** Nothing goes this way any more. */
  isUpDead: boolean;
  isDownDead: boolean;
}

/** A TCP proxy that fails on demand. */
export class FaultProxy {
  readonly #upstreamPort: number;
  readonly #pairs = new Set<Pair>();
  #server: Server | undefined;
  #mode: FaultMode = 'pass';
  #port = 0;

  private constructor(upstreamPort: number) {
    this.#upstreamPort = upstreamPort;
  }

  static async start(upstreamPort: number): Promise<FaultProxy> {
    const proxy = new FaultProxy(upstreamPort);
    await proxy.#listen();
    return proxy;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `redis://127.0.0.1:${String(this.#port)}/0`;
  }

  get connections(): number {
    return this.#pairs.size;
  }

  async set(mode: FaultMode): Promise<void> {
    this.#mode = mode;
    if (mode === 'refuse') await this.#unlisten();
    else await this.#listen();
    for (const pair of this.#pairs) {
      if (mode === 'refuse') end(pair, 'destroy');
      if (mode === 'reset') end(pair, 'reset');
      if (mode === 'blackhole') pair.isUpDead = pair.isDownDead = true;
      if (mode === 'half-open') pair.isDownDead = true;
    }
  }

  async stop(): Promise<void> {
    await this.set('refuse');
  }

  async #listen(): Promise<void> {
    if (this.#server !== undefined) return;
    const server = createServer({ allowHalfOpen: true }, (client) => {
      this.#accept(client);
    });
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#port, '127.0.0.1', resolve);
    });
    this.#port = (server.address() as { port: number }).port;
  }

  async #unlisten(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    for (const pair of this.#pairs) end(pair, 'destroy');
    await new Promise((resolve) => server.close(resolve));
  }

  #accept(client: Socket): void {
    if (this.#mode === 'reset') {
      client.on('error', () => undefined);
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(this.#upstreamPort, '127.0.0.1');
    const pair: Pair = {
      client,
      upstream,
      isUpDead: this.#mode === 'blackhole',
      isDownDead: this.#mode === 'blackhole' || this.#mode === 'half-open',
    };
    this.#pairs.add(pair);
    this.#pipe(client, upstream, () => pair.isUpDead);
    this.#pipe(upstream, client, () => pair.isDownDead);
    for (const socket of [client, upstream]) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        // Who is on the other side of a dead connection does not learn of its end.
        if (!pair.isDownDead || socket === client) end(pair, 'destroy');
        if (client.destroyed && upstream.destroyed) this.#pairs.delete(pair);
      });
    }
  }

  #pipe(from: Socket, to: Socket, isDead: () => boolean): void {
    from.on('data', (chunk) => {
      if (isDead()) return;
      const write = (): void => {
        if (!isDead() && !to.destroyed) to.write(chunk);
      };
      if (typeof this.#mode === 'number') setTimeout(write, this.#mode);
      else write();
    });
    from.on('end', () => {
      if (!isDead()) to.end();
    });
  }
}

function end({ client, upstream }: Pair, how: 'destroy' | 'reset'): void {
  if (how === 'reset' && !client.destroyed) client.resetAndDestroy();
  else client.destroy();
  upstream.destroy();
}
