import { CPU, type Device, isSlowToPrepare } from '../config/devices.js';
import { cacheFolderFor } from '../config/environment.js';
import type { Config, ModelSettings } from '../config/schema.js';
import type { Variant } from '../devices/variant.js';
import type { EngineConfig } from '../engine/messages.js';
import type { HeadName } from '../heads/head.js';
import { bucketsUpTo } from '../planning/buckets.js';
import type { ServingPlan } from '../planning/plan.js';
import type { ModelPackage } from './package.js';

/** Clients that wait for an engine are worse off than the first large batch would be. */
const WARM_UP_MS = 2000;
/** On a GPU every batch size has to be prepared, or the first clients that make one wait for it. */
const GPU_WARM_UP_MS = 60_000;

export interface ModelSource {
  readonly package: ModelPackage;
  readonly settings: ModelSettings;
  readonly config: Config;
}

/** All that an engine is told, of which every device has one. */
export function engineConfigFor(
  { package: { manifest, modelPath, fp16Path }, settings, config }: ModelSource,
  plan: ServingPlan,
  { devices, precision }: Variant,
  device: Device = devices[0] ?? CPU,
): EngineConfig {
  const { sessions, threads, maxBatch, wideThreads, maxConcurrent, decodeLanes } = plan;
  const isPipelined = device.name !== 'cpu';
  const buckets = isPipelined ? bucketsUpTo(maxBatch, device.name) : [];
  return {
    modelPath: precision === 'fp16' ? (fp16Path ?? modelPath) : modelPath,
    runtime: manifest.runtime ?? 'onnx',
    device,
    cacheFolder: cacheFolderFor(config.cache_dir),
    head: manifest.head as HeadName,
    labels: manifest.labels,
    input: manifest.input,
    plan: { sessions, threads, maxBatch, wideThreads },
    curve: plan.curve,
    wideCurve: plan.wideCurve,
    warmBatches: isPipelined ? buckets : warmBatches(maxBatch),
    warmUpMs: isPipelined ? GPU_WARM_UP_MS : WARM_UP_MS,
    buckets,
    isPipelined,
    countsNodes: false,
    decodeLanes,
    batching: settings.batching,
    windowMs: settings.window_ms,
    // Interactive items may come while background ones hold all places.
    maxItems: 2 * maxConcurrent,
    maxPixels: config.max_pixels,
    maxDecodeBytes: config.max_decode_bytes,
    hangTimeoutMs: config.hang_timeout_ms,
  };
}

/** Nearly as fast as larger ones, and half as long for whoever is alone in it. */
const MAKESHIFT_BATCH = 32;

/**
 * For an engine that takes the place of one that has crashed. CUDA takes seconds for every size of
 * batch and for every session, so this one has a single one of each, and another engine with all
 * that is planned takes over when that is ready.
 */
export function makeshiftConfigFor(engine: EngineConfig): EngineConfig {
  if (!isSlowToPrepare(engine.device.name)) return engine;
  const maxBatch = Math.min(engine.plan.maxBatch, MAKESHIFT_BATCH, engine.ceiling ?? Infinity);
  return {
    ...engine,
    isMakeshift: true,
    plan: { ...engine.plan, sessions: 1, maxBatch },
    buckets: [maxBatch],
    warmBatches: [maxBatch],
  };
}

/** For an engine that only has to show that it works. */
export function probeConfigFor(engine: EngineConfig): EngineConfig {
  const maxBatch = 2;
  return {
    ...engine,
    plan: { sessions: 1, threads: 1, maxBatch, wideThreads: 0 },
    curve: [],
    wideCurve: [],
    // One size is enough to see whether it works: each may take seconds to prepare.
    buckets: engine.isPipelined ? [maxBatch] : [],
    warmBatches: [maxBatch],
    countsNodes: engine.isPipelined,
    decodeLanes: 1,
    maxItems: 8,
    batching: 'adaptive',
  };
}

/** Powers of two, and the largest: what lies between them runs in the memory of the next. */
function warmBatches(maxBatch: number): number[] {
  const sizes: number[] = [];
  for (let size = 1; size < maxBatch; size *= 2) sizes.push(size);
  return [...sizes, maxBatch];
}
