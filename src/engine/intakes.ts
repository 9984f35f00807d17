import { randomBytes } from 'node:crypto';
import type { IntakeOrder } from './messages.js';

interface Engine {
  tell(order: IntakeOrder): void;
  kill(reason: string): void;
}

/**
 * From which processes, besides the server, engines take items, and which engines there are. An
 * engine connects to such a process: so the side that reads much can choose its own memory for it.
 */
export class Intakes {
  readonly #token = randomBytes(16).toString('hex');
  readonly #sources = new Map<number, string>();
  readonly #engines = new Map<number, Engine>();
  #nextKey = 1;
  /** An engine has ended. */
  onGone: ((key: number) => void) | undefined;

  /** What an engine must show. */
  get token(): string {
    return this.#token;
  }

  newKey(): number {
    return this.#nextKey++;
  }

  join(key: number, engine: Engine): void {
    this.#engines.set(key, engine);
    if (this.#sources.size > 0) engine.tell(this.#order(key));
  }

  gone(key: number): void {
    this.#engines.delete(key);
    this.onGone?.(key);
  }

  /** @param path where a process in this place listens; `undefined` when it is gone */
  set(slot: number, path: string | undefined): void {
    if (path === undefined) this.#sources.delete(slot);
    else this.#sources.set(slot, path);
    for (const [key, engine] of this.#engines) engine.tell(this.#order(key));
  }

  /** An engine that does not take items any more is as good as dead. */
  broken(key: number): void {
    this.#engines.get(key)?.kill('it ended or closed a connection for images');
  }

  #order(key: number): IntakeOrder {
    const sources = [...this.#sources].map(([slot, path]) => ({ slot, path }));
    return { engine: key, token: this.#token, sources };
  }
}
