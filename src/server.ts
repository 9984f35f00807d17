import { isIPv6 } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { ByteBudget } from './admission/byte-budget.js';
import { tenantsByKey } from './admission/tenants.js';
import type { Config } from './config/schema.js';
import { Intakes } from './engine/intakes.js';
import { frontCount } from './front/front-count.js';
import { FrontEntrance } from './front/front-entrance.js';
import { hasGpuFile } from './front/gpu-files.js';
import { GpuMonitor } from './gpu/memory-monitor.js';
import { createApp, type Role } from './http/app.js';
import { type Address, OwnEntrance } from './http/entrance.js';
import { Lifecycle } from './http/lifecycle.js';
import { Jobs } from './jobs/jobs.js';
import { openStore } from './jobs/open-store.js';
import { ModelRegistry } from './models/registry.js';
import { thisMachine } from './planning/machine.js';
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
  const budget = new ByteBudget(config.max_inflight_bytes);
  const fronts = role === 'server' ? frontCount(config, thisMachine().cores, hasGpuFile()) : 1;
  const intakes = fronts > 1 ? new Intakes() : undefined;
  const gpus = new GpuMonitor(config.gpu_memory_high, { log, metrics });
  const gpuBytesOf = (pid: number): number | undefined => gpus.memoryOf(pid);
  const models = new ModelRegistry(config, { log, metrics }, { intakes, gpuBytesOf });
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
    budget,
    jobs,
    gpus,
    role,
    isInner: intakes !== undefined,
  });
  const entrance =
    intakes === undefined
      ? new OwnEntrance(app, lifecycle, config)
      : new FrontEntrance(app, { config, log, metrics, models, tenants, intakes, budget }, fronts);
  if (intakes === undefined) metrics.set('shoal_http_workers', {}, 1);
  metrics.onGather(() => entrance.collect());

  const stop = async (): Promise<void> => {
    gpus.stop();
    models.stop();
    eventLoop.stop();
    await entrance.close();
    await jobs?.close();
  };
  let address: Address;
  try {
    address = await entrance.open();
    await models.start();
    gpus.start(models.all);
    jobs?.start(models);
  } catch (error) {
    await stop();
    throw error;
  }

  return {
    url: urlOf(address),
    role,
    needsKey: config.api_keys.length + config.tenants.length > 0,
    app,
    models,
    jobs,
    async drain() {
      lifecycle.startDraining();
      const [cutOff] = await Promise.all([entrance.drain(), jobs?.stopWork(config.grace_ms)]);
      await stop();
      return cutOff;
    },
  };
}

function urlOf({ address, port }: Address): string {
  const host = isIPv6(address) ? `[${address}]` : address;
  return `http://${host}:${String(port)}`;
}
