import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Config } from './config/schema.js';
import { createApp } from './http/app.js';
import { Lifecycle } from './http/lifecycle.js';
import { ModelRegistry } from './models/registry.js';
import { EventLoopMonitor } from './telemetry/event-loop.js';
import type { Log } from './telemetry/log.js';
import { Metrics } from './telemetry/metrics.js';

/** A running server. */
export interface ShoalServer {
  readonly url: string;
  /** Whether clients must send an API key. */
  readonly needsKey: boolean;
  readonly app: FastifyInstance;
  readonly models: ModelRegistry;
  /** Finishes what is in flight, then ends. Resolves with the number of requests cut off. */
  drain(): Promise<number>;
}

/**
 * Listens, loads the models and resolves when all of them serve. Requests that come earlier wait.
 * @throws when the port is taken or a model cannot be loaded
 */
export async function startServer(config: Config, log: Log): Promise<ShoalServer> {
  const metrics = new Metrics();
  const lifecycle = new Lifecycle();
  const eventLoop = new EventLoopMonitor();
  const models = new ModelRegistry(config, { log, metrics });
  const app = await createApp({ config, models, log, metrics, lifecycle, eventLoop });

  const stop = async (): Promise<void> => {
    models.stop();
    eventLoop.stop();
    await app.close();
  };
  try {
    await app.listen({ host: config.host, port: config.port });
    await models.start();
  } catch (error) {
    await stop();
    throw error;
  }

  return {
    url: urlOf(app.server.address() as AddressInfo),
    needsKey: config.api_keys.length + config.tenants.length > 0,
    app,
    models,
    async drain() {
      lifecycle.startDraining();
      const cutOff = await lifecycle.drain(app.server, config.drain_delay_ms, config.grace_ms);
      await stop();
      return cutOff;
    },
  };
}

function urlOf({ address, family, port }: AddressInfo): string {
  const host = family === 'IPv6' ? `[${address}]` : address;
  return `http://${host}:${String(port)}`;
}
