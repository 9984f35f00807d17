import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { ByteBudget } from './admission/byte-budget.js';
import { tenantsByKey } from './admission/tenants.js';
import type { Config } from './config/schema.js';
import { createApp, type Role } from './http/app.js';
import { Lifecycle } from './http/lifecycle.js';
import { Jobs } from './jobs/jobs.js';
import { openStore } from './jobs/open-store.js';
import { ModelRegistry } from './models/registry.js';
import { EventLoopMonitor } from './telemetry/event-loop.js';
import type { Log } from './telemetry/log.js';
import { Metrics } from './telemetry/metrics.js';

/** A running server. */
export interface ShoalServer {
  readonly url: string;
  readonly role: Role;
  /** Whether clients must send an API key. */
  readonly needsKey: boolean;
  readonly app: FastifyInstance;
  readonly models: ModelRegistry;
  /** `undefined` when they are switched off. */
  readonly jobs: Jobs | undefined;
  /** Finishes what is in flight, then ends. Resolves with the number of requests cut off. */
  drain(): Promise<number>;
}

/**
 * Listens, loads the models and resolves when all of them serve. Requests that come earlier wait.
 * @throws when the port is taken, a model cannot be loaded or jobs cannot be kept
 */
export async function startServer(
  config: Config,
  log: Log,
  role: Role = 'server',
): Promise<ShoalServer> {
  const metrics = new Metrics();
  const lifecycle = new Lifecycle();
  const eventLoop = new EventLoopMonitor();
  const tenants = tenantsByKey(config);
  const models = new ModelRegistry(config, { log, metrics });
  const store = await openStore(config, log);
  const jobs =
    store === undefined ? undefined : new Jobs(store, config, tenants.values(), { log, metrics });
  const app = await createApp({
    config,
    models,
    log,
    metrics,
    lifecycle,
    eventLoop,
    tenants,
    budget: new ByteBudget(config.max_inflight_bytes),
    jobs,
    role,
  });

  const stop = async (): Promise<void> => {
    models.stop();
    eventLoop.stop();
    await app.close();
    await jobs?.close();
  };
  try {
    await app.listen({ host: config.host, port: config.port });
    await models.start();
    jobs?.start(models);
  } catch (error) {
    await stop();
    throw error;
  }

  return {
    url: urlOf(app.server.address() as AddressInfo),
    role,
    needsKey: config.api_keys.length + config.tenants.length > 0,
    app,
    models,
    jobs,
    async drain() {
      lifecycle.startDraining();
      const [cutOff] = await Promise.all([
        lifecycle.drain(app.server, config.drain_delay_ms, config.grace_ms),
        jobs?.stopWork(config.grace_ms),
      ]);
      await stop();
      return cutOff;
    },
  };
}

function urlOf({ address, family, port }: AddressInfo): string {
  const host = family === 'IPv6' ? `[${address}]` : address;
  return `http://${host}:${String(port)}`;
}
