import type { FastifyInstance } from 'fastify';
import type { Config } from '../../config/schema.js';
import { isOnCpu } from '../../devices/variant.js';
import type { ModelRegistry } from '../../models/registry.js';
import type { ServedModel } from '../../models/served-model.js';
import { type Profile, sessionBytes, throughput } from '../../planning/profile.js';
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
  const { settings, engine, profile, gate, variant } = model;
  return {
    name: model.name,
    ...(manifest.description === undefined ? {} : { description: manifest.description }),
    is_default: model === models.default,
    status: engine.isReady ? 'ready' : 'starting',
    provider: engine.provider ?? 'none',
    device: variant.devices[0]?.name ?? 'cpu',
    device_index: variant.devices.map(({ index }) => index),
    precision: variant.precision,
    head: manifest.head,
    input: manifest.input,
    labels: manifest.labels,
    plan: describePlan(model),
    ...(profile !== undefined && { profile: describeProfile(profile, isOnCpu(variant)) }),
    limits: {
      max_wait_ms: Math.round(gate.maxWaitMs),
      max_queue: settings.max_queue,
      max_queue_bytes: settings.max_queue_bytes,
      max_image_bytes: config.max_image_bytes,
      max_pixels: config.max_pixels,
      max_decode_bytes: config.max_decode_bytes,
      timeout_ms: config.timeout_ms,
    },
  };
}

function describePlan({ plan, settings, profile }: ServedModel): ModelResponse['plan'] {
  const bytes = profile === undefined ? undefined : sessionBytes(profile);
  const rate = plan.imagesPerSecond;
  return {
    sessions: plan.sessions,
    threads: plan.threads,
    max_batch: plan.maxBatch,
    wide_threads: plan.wideThreads,
    ...(plan.wideThreads > 0 && bytes !== undefined && { wide_session_bytes: bytes }),
    max_concurrent: plan.maxConcurrent,
    batching: settings.batching,
    window_ms: settings.window_ms,
    ...(rate !== undefined && { images_per_second: round(rate) }),
    why: plan.why,
    warnings: [...plan.warnings],
  };
}

function describeProfile(
  { depth, measuredAt, decodeMs, splits }: Profile,
  decodesItself: boolean,
): NonNullable<ModelResponse['profile']> {
  const perImage = { decodeMs: decodesItself ? decodeMs : 0 };
  return {
    depth,
    measured_at: measuredAt,
    decode_ms: round(decodeMs),
    splits: splits.map(({ sessions, threads, points }) => ({
      sessions,
      threads,
      curve: points.map(({ batch, ms, rssBytes }) => ({
        batch,
        ms: round(ms),
        images_per_second: round(throughput(perImage, { sessions, threads }, { batch, ms })),
        memory_bytes: Math.round(rssBytes),
      })),
    })),
  };
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
