import { rssBytes } from './processes.js';
import type { BenchServer } from './server.js';

export interface MemoryUse {
  readonly start: number;
  readonly middle: number;
  readonly end: number;
  readonly max: number;
}

const INTERVAL_MS = 500;

/** Resident bytes of all processes of the server, while something runs. */
export class MemorySamples {
  readonly #server: BenchServer;
  readonly #samples: number[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(server: BenchServer) {
    this.#server = server;
    this.#take();
    this.#timer = setInterval(() => {
      this.#take();
    }, INTERVAL_MS);
  }

  stop(): MemoryUse {
    clearInterval(this.#timer);
    this.#take();
    const all = this.#samples;
    return {
      start: all[0] ?? Number.NaN,
      middle: all[Math.floor(all.length / 2)] ?? Number.NaN,
      end: all.at(-1) ?? Number.NaN,
      max: Math.max(...all),
    };
  }

  #take(): void {
    try {
      this.#samples.push(this.#server.memoryBytes(rssBytes));
    } catch {
      // A process that has just ended has no size; the next sample will do.
    }
  }
}
