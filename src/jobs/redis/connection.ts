import { Redis, type RedisOptions } from 'ioredis';
import { HANDSHAKE_MS, RECONNECT_MS } from './timing.js';

export type RedisClient = Redis & { release(): void };

/**
 * An ioredis client that cannot get stuck while it connects: by itself it would wait for ever for
 * a peer that accepts and then says nothing. Copies, which BullMQ makes to block on, are the same.
 */
class SteadyRedis extends Redis {
  readonly #url: string;
  readonly #copies = new Set<SteadyRedis>();
  #handshake: NodeJS.Timeout | undefined;

  constructor(url: string, options: RedisOptions) {
    super(url, options);
    this.#url = url;
    this.on('connecting', () => {
      clearTimeout(this.#handshake);
      this.#handshake = setTimeout(() => {
        drop(this);
      }, HANDSHAKE_MS);
    });
    for (const event of ['ready', 'close', 'end'] as const) {
      this.on(event, () => {
        clearTimeout(this.#handshake);
      });
    }
    // Without a listener ioredis writes to the console. Whoever cares adds another one.
    this.on('error', () => undefined);
  }

  override duplicate(override?: Partial<RedisOptions>): SteadyRedis {
    const copy = new SteadyRedis(this.#url, { ...this.options, ...override });
    this.#copies.add(copy);
    copy.on('end', () => this.#copies.delete(copy));
    return copy;
  }

  /** For good, with all copies. */
  release(): void {
    for (const redis of [this, ...this.#copies]) redis.disconnect();
  }
}

/** Closes what is open, so that it is opened again. */
export function drop(redis: RedisClient): void {
  if (['connecting', 'connect'].includes(redis.status)) redis.disconnect(true);
  // What is being closed is not writable any more.
  else if (redis.status === 'ready' && redis.stream.writable) redis.disconnect(true);
}

/**
 * - `fast` answers or fails: nothing waits for a connection, nothing is sent twice.
 * - `patient` keeps what it is asked until Redis is back, and repeats what was not answered.
 */
export type Temper = 'fast' | 'patient';

export function connect(url: string, temper: Temper, name: string): RedisClient {
  const isFast = temper === 'fast';
  return new SteadyRedis(url, {
    connectionName: name,
    connectTimeout: HANDSHAKE_MS,
    // A peer that is gone does not say goodbye.
    disconnectTimeout: 50,
    retryStrategy: (times) => Math.min(RECONNECT_MS.most, RECONNECT_MS.first * 2 ** (times - 1)),
    maxRetriesPerRequest: isFast ? 0 : null,
    enableOfflineQueue: !isFast,
    autoResendUnfulfilledCommands: !isFast,
    // Behind a name that is moved to another server, we would stay with the old one.
    reconnectOnError: (error) => error.message.startsWith('READONLY') && (isFast ? 1 : 2),
    keepAlive: 5000,
  });
}

/** `host:port` of an address; a password in it is left out. */
export function addressOf(url: string): string {
  const { hostname, port } = new URL(url);
  return `${hostname === '' ? '127.0.0.1' : hostname}:${port === '' ? '6379' : port}`;
}
