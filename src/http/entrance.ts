import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config/schema.js';
import type { MetricValues } from '../telemetry/metrics.js';
import type { Lifecycle } from './lifecycle.js';

export interface Address {
  readonly address: string;
  readonly port: number;
}

/** How clients reach the server. */
export interface Entrance {
  /** @throws when the port cannot be had */
  open(): Promise<Address>;
  /** Resolves with the number of requests that were cut off. */
  drain(): Promise<number>;
  close(): Promise<void>;
  /** What other processes counted. */
  collect(): Promise<MetricValues[]>;
}

/** Directly: this process listens. */
export class OwnEntrance implements Entrance {
  readonly #app: FastifyInstance;
  readonly #lifecycle: Lifecycle;
  readonly #config: Config;

  constructor(app: FastifyInstance, lifecycle: Lifecycle, config: Config) {
    this.#app = app;
    this.#lifecycle = lifecycle;
    this.#config = config;
  }

  async open(): Promise<Address> {
    const { host, port } = this.#config;
    await this.#app.listen({ host, port });
    return this.#app.server.address() as AddressInfo;
  }

  drain(): Promise<number> {
    const { drain_delay_ms, grace_ms } = this.#config;
    return this.#lifecycle.drain(this.#app.server, drain_delay_ms, grace_ms);
  }

  async close(): Promise<void> {
    await this.#app.close();
  }

  collect(): Promise<MetricValues[]> {
    return Promise.resolve([]);
  }
}
