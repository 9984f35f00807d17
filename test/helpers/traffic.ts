import type { TestServer } from './server.js';
import { until } from './server.js';

/** Clients that send without pause until told to stop. */
export class Traffic {
  readonly statuses: number[] = [];
  #isStopped = false;
  readonly #clients: Promise<void>[];

  constructor(server: TestServer, image: Buffer, clients = 6) {
    const client = async (): Promise<void> => {
      while (!this.#isStopped) this.statuses.push((await server.post('/predict', image)).status);
    };
    this.#clients = Array.from({ length: clients }, client);
  }

  /** Until this many more have been answered. */
  async flows(answers = 20): Promise<void> {
    const wanted = this.statuses.length + answers;
    await until(() => this.statuses.length >= wanted);
  }

  /** @returns the statuses of all answers */
  async stop(): Promise<number[]> {
    this.#isStopped = true;
    await Promise.all(this.#clients);
    return this.statuses;
  }
}
