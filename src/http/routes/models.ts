import type { FastifyInstance } from 'fastify';
import type { Config } from '../../config/schema.js';
import type { ModelRegistry } from '../../models/registry.js';
import type { ServedModel } from '../../models/served-model.js';
import { ModelListResponse, ModelParams, ModelResponse } from '../schemas.js';

/** What is loaded and how it is served. */
export function modelRoutes(
  app: FastifyInstance,
  { config, models }: { config: Config; models: ModelRegistry },
): void {
  app.route({
    method: 'GET',
    url: '/models',
    schema: { tags: ['models'], summary: 'All models', response: { 200: ModelListResponse } },
    handler: () => ({ models: models.all.map((model) => describe(model, models, config)) }),
  });
  app.route({
    method: 'GET',
    url: '/models/:name',
    schema: {
      tags: ['models'],
      summary: 'One model: input, labels, plan and limits',
      params: ModelParams,
      response: { 200: ModelResponse },
    },
    handler: (request) =>
      describe(models.get((request.params as { name: string }).name), models, config),
  });
}

function describe(model: ServedModel, models: ModelRegistry, config: Config): ModelResponse {
  const { manifest } = model.package;
  const { plan, settings, engine } = model;
  return {
    name: model.name,
    ...(manifest.description === undefined ? {} : { description: manifest.description }),
    is_default: model === models.default,
    status: engine.isReady ? 'ready' : 'starting',
    provider: engine.provider ?? 'none',
    head: manifest.head,
    input: manifest.input,
    labels: manifest.labels,
    plan: {
      sessions: plan.sessions,
      threads: plan.threads,
      max_batch: plan.maxBatch,
      max_concurrent: plan.maxConcurrent,
      batching: settings.batching,
      window_ms: settings.window_ms,
      why: plan.why,
    },
    limits: {
      max_queue: settings.max_queue,
      max_queue_bytes: settings.max_queue_bytes,
      max_image_bytes: config.max_image_bytes,
      max_pixels: config.max_pixels,
      max_decode_bytes: config.max_decode_bytes,
      timeout_ms: config.timeout_ms,
    },
  };
}
