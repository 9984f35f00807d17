import type { Link } from './link.js';
import { byteLimit, parseMemory } from './memory.js';

const EVERY_MS = 1000;

/** Keeps in mind how much room Redis has. */
export class MemoryGauge {
  readonly #link: Link;
  readonly #prefix: string;
  readonly #maxBytes: number;
  readonly #timer: NodeJS.Timeout;
  #limit: number;

  constructor(link: Link, prefix: string, maxBytes: number) {
    this.#link = link;
    this.#prefix = prefix;
    this.#maxBytes = maxBytes;
    this.#limit = maxBytes;
    this.#timer = setInterval(() => {
      if (link.isUp) this.refresh().catch(() => undefined);
    }, EVERY_MS);
  }

  /** What our jobs may occupy at the moment. */
  get limit(): number {
    return this.#limit;
  }

  async refresh(): Promise<void> {
    const [info, jobs] = await this.#link.call((client) =>
      Promise.all([client.info('memory'), client.hget(`${this.#prefix}:counts`, 'bytes')]),
    );
    this.#limit = byteLimit(this.#maxBytes, parseMemory(info, Number(jobs ?? 0)));
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
