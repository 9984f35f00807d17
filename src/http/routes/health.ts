import type { FastifyInstance } from 'fastify';
import { ShoalError } from '../../errors.js';
import type { ModelRegistry } from '../../models/registry.js';
import { VERSION } from '../../version.js';
import type { Lifecycle } from '../lifecycle.js';
import { HealthResponse, StatusResponse } from '../schemas.js';

/** For people (`/health`) and for orchestrators (`/livez`, `/readyz`). */
export function healthRoutes(
  app: FastifyInstance,
  { models, lifecycle }: { models: ModelRegistry; lifecycle: Lifecycle },
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
      return describe(status, models, performance.now() - startedAt);
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
    schema: { tags: ['health'], summary: 'Requests are taken', response: { 200: StatusResponse } },
    handler: () => {
      if (lifecycle.isDraining) throw new ShoalError('not_ready', 'The server is shutting down.');
      if (!models.canServe) throw new ShoalError('not_ready', 'No engine is ready.');
      return { status: 'ok' };
    },
  });
}

function statusOf(models: ModelRegistry, lifecycle: Lifecycle): HealthResponse['status'] {
  if (lifecycle.isDraining) return 'draining';
  return models.canServe ? 'ok' : 'unavailable';
}

function describe(
  status: HealthResponse['status'],
  models: ModelRegistry,
  uptimeMs: number,
): HealthResponse {
  return {
    status,
    version: VERSION,
    uptime_s: Math.round(uptimeMs / 100) / 10,
    models: models.all.map(({ name, gate, engine }) => ({
      name,
      queue_depth: gate.waiting,
      in_flight: gate.inFlight,
      engine: {
        status: engine.isReady ? 'ready' : 'starting',
        provider: engine.provider ?? 'none',
        restarts: engine.restarts,
        memory_bytes: engine.vitals.rssBytes,
      },
    })),
    gpus: [],
  };
}
