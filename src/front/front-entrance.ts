import type { FastifyInstance } from 'fastify';
import type { Address, Entrance } from '../http/entrance.js';
import type { MetricValues } from '../telemetry/metrics.js';
import { Fronts, type FrontsHost } from './fronts.js';
import { PrivateFolder } from './private-folder.js';

/** Through other processes, which listen; this one answers what they pass on. */
export class FrontEntrance implements Entrance {
  readonly #app: FastifyInstance;
  readonly #folder = new PrivateFolder();
  readonly #innerPath = this.#folder.socketPath('server');
  readonly #fronts: Fronts;

  constructor(app: FastifyInstance, host: Omit<FrontsHost, 'folder' | 'innerPath'>, count: number) {
    this.#app = app;
    const [folder, innerPath] = [this.#folder, this.#innerPath];
    this.#fronts = new Fronts({ ...host, folder, innerPath }, count);
  }

  async open(): Promise<Address> {
    await this.#app.listen({ path: this.#innerPath });
    return this.#fronts.start();
  }

  drain(): Promise<number> {
    return this.#fronts.drain();
  }

  async close(): Promise<void> {
    await this.#fronts.stop();
    await this.#app.close();
    this.#folder.remove();
  }

  collect(): Promise<MetricValues[]> {
    return this.#fronts.collect();
  }
}
