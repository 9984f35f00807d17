import type { Log } from '../../telemetry/log.js';
import { connect, drop, type RedisClient, type Temper } from './connection.js';
import { isPassing, reasonOf, toStoreError, unavailable } from './faults.js';
import { type ScriptName, SCRIPTS } from './scripts.js';
import { BLIP_MS, CALL_MS, INSIST_MS, PING_EVERY_MS, PING_MS } from './timing.js';

export interface LinkOptions {
  readonly url: string;
  readonly prefix: string;
  readonly name: string;
  readonly temper: Temper;
  /** Says in the log when it is lost and back. */
  readonly log?: Log;
}

type Argument = string | number | Buffer;
type Defined = Readonly<Record<string, (...args: readonly Argument[]) => Promise<unknown>>>;

/** One connection to Redis that notices by itself when nobody is at the other end any more. */
export class Link {
  readonly client: RedisClient;
  readonly #prefix: string;
  readonly #pings: NodeJS.Timeout;
  readonly #log: Log | undefined;
  #calls = 0;
  #answeredAt = 0;
  #isPinging = false;
  #lostAt = performance.now();
  #isLost = false;
  #wasUp = false;
  #isClosed = false;
  #opening: Promise<void> | undefined;

  constructor({ url, prefix, name, temper, log }: LinkOptions) {
    this.#prefix = prefix;
    this.#log = log;
    this.client = connect(url, temper, `${prefix}:${name}`);
    for (const [script, lua] of SCRIPTS) {
      this.client.defineCommand(`shoal_${script}`, { numberOfKeys: 1, lua });
    }
    let reason = 'closed';
    this.client.on('error', (error) => (reason = reasonOf(error)));
    this.client.on('close', () => {
      this.#lost(reason);
    });
    this.client.on('ready', () => {
      // What was wrong before says nothing about the next time.
      reason = 'closed';
      this.#found();
    });
    this.#pings = setInterval(() => {
      this.#ping();
    }, PING_EVERY_MS);
  }

  get isUp(): boolean {
    return this.client.status === 'ready';
  }

  /** For how long it has been away. */
  get awayMs(): number {
    return this.isUp ? 0 : performance.now() - this.#lostAt;
  }

  /** Runs a script without a limit; on a patient link it waits until Redis is there. */
  run(script: ScriptName, ...args: readonly Argument[]): Promise<unknown> {
    const commands = this.client as unknown as Defined;
    const command = commands[`shoal_${script}`] as (...all: Argument[]) => Promise<unknown>;
    return command.call(this.client, this.#prefix, ...args);
  }

  /** The same, and again while Redis says that it cannot at the moment. */
  async insist(script: ScriptName, ...args: readonly Argument[]): Promise<unknown> {
    for (;;) {
      try {
        return await this.run(script, ...args);
      } catch (error) {
        if (this.#isClosed || !isPassing(error)) throw error;
        await new Promise((resolve) => setTimeout(resolve, INSIST_MS));
      }
    }
  }

  /** Runs a script within the time that the API has. @throws `store_unavailable`, `store_full` */
  ask(script: ScriptName, ...args: readonly Argument[]): Promise<unknown> {
    return this.call(() => this.run(script, ...args));
  }

  /** The same for anything else. Whoever does not answer in time is taken for gone. */
  async call<T>(work: (client: RedisClient) => Promise<T>, limitMs = CALL_MS): Promise<T> {
    const since = performance.now();
    if (!this.isUp) await this.#blip();
    this.#calls++;
    try {
      const leftMs = limitMs - (performance.now() - since);
      const answer = await within(leftMs, work(this.client), () => {
        // With answers to others it is slow; without any it is gone.
        if (this.#answeredAt < since) drop(this.client);
      });
      this.#answeredAt = performance.now();
      return answer;
    } catch (error) {
      throw toStoreError(error);
    } finally {
      this.#calls--;
    }
  }

  /** Resolves when it is there. @throws with the reason when it is not, in this time */
  async open(limitMs: number): Promise<void> {
    let reason = 'no answer';
    const listen = (error: unknown): void => {
      const next = reasonOf(error);
      // After a wrong password everything else is refused too, which says less.
      if (!next.startsWith('NOAUTH')) reason = next;
    };
    this.client.on('error', listen);
    try {
      await this.#ready(limitMs);
    } catch {
      throw new Error(reason);
    } finally {
      this.client.off('error', listen);
    }
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#pings);
    this.client.release();
  }

  /** A connection that broke is back in a moment, as a rule; an outage is not waited for. */
  async #blip(): Promise<void> {
    if (this.awayMs > BLIP_MS) throw unavailable();
    await this.#ready(BLIP_MS);
  }

  #ready(limitMs: number): Promise<void> {
    if (this.isUp) return Promise.resolve();
    this.#opening ??= new Promise((resolve) => {
      this.client.once('ready', () => {
        this.#opening = undefined;
        resolve();
      });
    });
    return within(limitMs, this.#opening, () => undefined);
  }

  #ping(): void {
    // Images may take long on a slow network, and calls notice for themselves.
    if (!this.isUp || this.#isPinging || this.#calls > 0) return;
    this.#isPinging = true;
    within(PING_MS, this.client.ping(), () => {
      drop(this.client);
    })
      .catch(() => undefined)
      .finally(() => {
        this.#isPinging = false;
      });
  }

  #lost(reason: string): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#lostAt = performance.now();
    if (this.#wasUp && !this.#isClosed) {
      this.#log?.warn({ reason }, 'the job store cannot be reached');
    }
  }

  #found(): void {
    if (this.#isLost && this.#wasUp) this.#log?.info('the job store is back');
    this.#isLost = false;
    this.#wasUp = true;
  }
}

/** Rejects after this time. An answer that has arrived but was not looked at yet still counts. */
export function within<T>(limitMs: number, work: Promise<T>, onLate: () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    let isDone = false;
    const timer = setTimeout(() => {
      setImmediate(() => {
        if (isDone) return;
        onLate();
        reject(unavailable());
      });
    }, limitMs);
    const done = (): void => {
      isDone = true;
      clearTimeout(timer);
    };
    work.then(
      (value) => {
        done();
        resolve(value);
      },
      (error: unknown) => {
        done();
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}
