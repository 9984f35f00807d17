import fastify, { type FastifyInstance } from 'fastify';
import { ByteBudget } from '../admission/byte-budget.js';
import type { Tenant } from '../admission/tenant.js';
import type { Config } from '../config/schema.js';
import { ShoalError } from '../errors.js';
import type { Jobs } from '../jobs/jobs.js';
import type { ModelRegistry } from '../models/registry.js';
import type { EventLoopMonitor } from '../telemetry/event-loop.js';
import type { Log } from '../telemetry/log.js';
import type { Metrics } from '../telemetry/metrics.js';
import { KeyRing } from './auth.js';
import { createContext } from './context.js';
import { refusingServer } from './early-refusal.js';
import type { Lifecycle } from './lifecycle.js';
import { answerUnknownRoutes } from './not-found.js';
import { observeRequests, requestIdOf } from './observe.js';
import { openApiRoutes } from './openapi.js';
import { answerClientError, sendProblem } from './problems.js';
import { receiveBodies } from './receive-body.js';
import { ReportQueue } from './report-queue.js';
import { healthRoutes } from './routes/health.js';
import { jobRoutes } from './routes/jobs.js';
import { metricsRoute } from './routes/metrics.js';
import { modelRoutes } from './routes/models.js';
import { predictRoutes } from './routes/predict.js';

export interface AppDependencies {
  readonly config: Config;
  readonly models: ModelRegistry;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly lifecycle: Lifecycle;
  readonly eventLoop: EventLoopMonitor;
  readonly tenants: ReadonlyMap<string, Tenant>;
  /** `undefined` when they are switched off. */
  readonly jobs: Jobs | undefined;
  /** A worker takes nothing from clients; it only says how it is. */
  readonly role: Role;
}

export type Role = 'server' | 'worker';

const MAX_HEADER_BYTES = 16 * 1024;
/** Node looks for slow clients only this often. */
const TIMEOUT_CHECK_MS = 1000;

/** The HTTP side, ready to listen. */
export async function createApp(dependencies: AppDependencies): Promise<FastifyInstance> {
  const { config, models, log, metrics, lifecycle, eventLoop, jobs, role } = dependencies;
  const keys = new KeyRing(dependencies.tenants);
  const budget = new ByteBudget(config.max_inflight_bytes);
  const reports = new ReportQueue(log, metrics);
  metrics.onCollect(() => {
    reports.flush();
  });
  const app = fastify({
    logger: false,
    genReqId: requestIdOf,
    // Routes count bytes themselves, with a limit that depends on the form of the body.
    bodyLimit: Number.MAX_SAFE_INTEGER,
    forceCloseConnections: false,
    serverFactory: (handle) => {
      const options = {
        requestTimeout: config.body_timeout_ms,
        keepAliveTimeout: config.keep_alive_timeout_ms,
        headersTimeout: config.headers_timeout_ms,
        connectionsCheckingInterval: TIMEOUT_CHECK_MS,
        maxHeaderSize: MAX_HEADER_BYTES,
      };
      const timeoutMs = config.timeout_ms;
      return refusingServer(options, handle, { models, keys, reports, lifecycle, timeoutMs });
    },
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      request.context = createContext(request.id);
      void reply.header('x-request-id', request.id);
      sendProblem(error, request, reply, log);
    },
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false, useDefaults: false } },
  });
  app.server.maxConnections = config.max_connections;

  // Before any route, so that a new one is guarded unless it says otherwise.
  observeRequests(app, { reports, lifecycle }, (request) => {
    if (request.routeOptions.config.isPublic !== true) {
      request.context.tenant = keys.identify(request.headers);
    }
    if (request.headers['content-encoding'] !== undefined) {
      throw new ShoalError(
        'unsupported_content_encoding',
        'Send the body as it is, not compressed.',
      );
    }
  });
  app.setErrorHandler((error, request, reply) => {
    sendProblem(error, request, reply, log);
  });
  answerUnknownRoutes(app);
  app.removeAllContentTypeParsers();

  await openApiRoutes(app);
  receiveBodies(app);
  if (role === 'server') {
    predictRoutes(app, { config, models, budget });
    modelRoutes(app, { config, models });
    if (jobs !== undefined) jobRoutes(app, { config, models, budget, jobs, metrics });
  }
  healthRoutes(app, { models, lifecycle, jobs });
  metricsRoute(app, metrics);

  metrics.onCollect(() => {
    metrics.set('shoal_request_bytes', {}, budget.usedBytes);
    metrics.set('shoal_draining', {}, lifecycle.isDraining ? 1 : 0);
    metrics.set('shoal_process_memory_bytes', {}, process.memoryUsage.rss());
    for (const [quantile, seconds] of Object.entries(eventLoop.delaySeconds)) {
      metrics.set('shoal_event_loop_delay_seconds', { quantile }, seconds);
    }
  });
  await app.ready();
  return app;
}
