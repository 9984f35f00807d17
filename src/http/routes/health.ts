import type { FastifyInstance } from 'fastify';
import { nameOf } from '../../devices/variant.js';
import { ShoalError } from '../../errors.js';
import type { GpuMonitor } from '../../gpu/memory-monitor.js';
import type { GpuState } from '../../gpu/memory-report.js';
import type { Jobs } from '../../jobs/jobs.js';
import type { ModelRegistry } from '../../models/registry.js';
import { VERSION } from '../../version.js';
import type { Lifecycle } from '../lifecycle.js';
import { HealthResponse, ReadyQuery, StatusResponse } from '../schemas.js';

interface HealthDependencies {
  readonly models: ModelRegistry;
  readonly lifecycle: Lifecycle;
  readonly jobs: Jobs | undefined;
  readonly gpus: GpuMonitor;
}

/** For people (`/health`) and for orchestrators (`/livez`, `/readyz`). */
export function healthRoutes(
  app: FastifyInstance,
  { models, lifecycle, jobs, gpus }: HealthDependencies,
): void {
  const config = { isPublic: true };
  const startedAt = performance.now();

  app.route({
    method: 'GET',
    url: '/health',
    config,
    schema: {
      tags: ['health'],
      summary: 'State of the server, its models and engines',
      response: { 200: HealthResponse, 503: HealthResponse },
    },
    handler: async (_request, reply) => {
      const status = statusOf(models, lifecycle);
      void reply.code(status === 'ok' ? 200 : 503);
      return {
        ...describe(status, models, gpus, performance.now() - startedAt),
        ...(jobs !== undefined && { jobs: describeJobs(jobs) }),
      };
    },
  });
  app.route({
    method: 'GET',
    url: '/livez',
    config,
    schema: { tags: ['health'], summary: 'The process runs', response: { 200: StatusResponse } },
    handler: () => ({ status: 'ok' }),
  });
  app.route({
    method: 'GET',
    url: '/readyz',
    config,
    schema: {
      tags: ['health'],
      summary: 'Requests and jobs are taken and move',
      querystring: ReadyQuery,
      response: { 200: StatusResponse },
    },
    handler: (request) => {
      if (lifecycle.isDraining) throw new ShoalError('not_ready', 'The server is shutting down.');
      if (!models.canServe) {
        throw new ShoalError('not_ready', gpus.trouble ?? 'No engine is ready.');
      }
      const { only } = request.query as { only?: 'predict' };
      const trouble = only === 'predict' ? undefined : jobs?.monitor.trouble;
      if (trouble !== undefined) throw new ShoalError('not_ready', trouble);
      return { status: 'ok' };
    },
  });
}

function describeJobs({ store, monitor, isWorker }: Jobs): NonNullable<HealthResponse['jobs']> {
  const { trouble, stats, oldestWaitingMs } = monitor;
  return {
    store: store.kind,
    status: trouble === undefined ? 'ok' : 'unavailable',
    ...(trouble !== undefined && { detail: trouble }),
    worker: isWorker,
    queued: stats?.jobs.queued ?? 0,
    running: stats?.jobs.running ?? 0,
    oldest_waiting_s: Math.round(oldestWaitingMs / 100) / 10,
    webhooks_pending: stats?.webhooksPending ?? 0,
  };
}

function statusOf(models: ModelRegistry, lifecycle: Lifecycle): HealthResponse['status'] {
  if (lifecycle.isDraining) return 'draining';
  return models.canServe ? 'ok' : 'unavailable';
}

function describe(
  status: HealthResponse['status'],
  models: ModelRegistry,
  { gpus, trouble }: GpuMonitor,
  uptimeMs: number,
): HealthResponse {
  return {
    status,
    ...(trouble !== undefined && { detail: trouble }),
    version: VERSION,
    uptime_s: Math.round(uptimeMs / 100) / 10,
    models: models.all.map(({ name, gate, engine, variant }) => ({
      name,
      queue_depth: gate.waiting,
      in_flight: gate.inFlight,
      engine: {
        status: engine.isReady ? 'ready' : 'starting',
        provider: engine.provider ?? 'none',
        device: variant.devices.map(nameOf).join(', '),
        restarts: engine.restarts,
        memory_bytes: engine.vitals.rssBytes,
      },
    })),
    gpus: gpus.map(describeGpu),
  };
}

function describeGpu({
  index,
  reading,
  models,
  ownBytes,
  isStale,
  isHigh,
}: GpuState): HealthResponse['gpus'][number] {
  return {
    index,
    name: reading?.name ?? 'unknown',
    ...(reading !== undefined && {
      memory_used_bytes: reading.usedBytes,
      memory_total_bytes: reading.totalBytes,
      ...(reading.utilization !== undefined && { utilization: reading.utilization }),
    }),
    ...(ownBytes !== undefined && { memory_own_bytes: ownBytes }),
    memory_high: isHigh,
    stale: isStale,
    models: [...models],
  };
}
