import type { FastifyInstance } from 'fastify';
import type { ByteBudget } from '../admission/byte-budget.js';
import type { Tenant } from '../admission/tenant.js';
import type { Config } from '../config/schema.js';
import type { GpuMonitor } from '../gpu/memory-monitor.js';
import type { Jobs } from '../jobs/jobs.js';
import type { ModelRegistry } from '../models/registry.js';
import type { EventLoopMonitor } from '../telemetry/event-loop.js';
import type { Log } from '../telemetry/log.js';
import type { Metrics } from '../telemetry/metrics.js';
import type { Lifecycle } from './lifecycle.js';
import { LocalPredictor } from './local-predictor.js';
import { openApiRoutes } from './openapi.js';
import { receiveBodies } from './receive-body.js';
import { healthRoutes } from './routes/health.js';
import { jobRoutes } from './routes/jobs.js';
import { metricsRoute } from './routes/metrics.js';
import { modelRoutes } from './routes/models.js';
import { predictRoutes } from './routes/predict.js';
import { createShell } from './shell.js';

export interface AppDependencies {
  readonly config: Config;
  readonly models: ModelRegistry;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly lifecycle: Lifecycle;
  readonly eventLoop: EventLoopMonitor;
  readonly tenants: ReadonlyMap<string, Tenant>;
  readonly budget: ByteBudget;
  /** `undefined` when they are switched off. */
  readonly jobs: Jobs | undefined;
  readonly gpus: GpuMonitor;
  /** A worker takes nothing from clients; it only says how it is. */
  readonly role: Role;
  /** Clients are served by other processes, which pass on what is not theirs. */
  readonly isInner?: boolean;
}

export type Role = 'server' | 'worker';

/** The HTTP side, ready to listen. */
export async function createApp(dependencies: AppDependencies): Promise<FastifyInstance> {
  const { config, models, metrics, lifecycle, eventLoop, jobs, gpus, role, budget } = dependencies;
  const predictor = new LocalPredictor(models);
  const app = createShell({ ...dependencies, predictor });
  if (dependencies.isInner !== true) app.server.maxConnections = config.max_connections;

  await openApiRoutes(app, dependencies.tenants.size > 0);
  receiveBodies(app);
  if (role === 'server') {
    predictRoutes(app, { config, predictor, budget });
    modelRoutes(app, { config, models });
    if (jobs !== undefined) jobRoutes(app, { config, models, budget, jobs, metrics });
  }
  healthRoutes(app, { models, lifecycle, jobs, gpus });
  metricsRoute(app, metrics);

  metrics.onCollect(() => {
    metrics.set('shoal_request_bytes', {}, budget.usedBytes);
    metrics.set('shoal_draining', {}, lifecycle.isDraining ? 1 : 0);
    metrics.observeProcess(eventLoop);
  });
  await app.ready();
  return app;
}
