import { Gate } from '../admission/gate.js';
import type { Config, ModelEntry, ModelSettings } from '../config/schema.js';
import { MODEL_SETTING_KEYS } from '../config/schema.js';
import { EngineLink } from '../engine/engine-link.js';
import type { EngineConfig, Ready } from '../engine/messages.js';
import { type EngineAnswer, type EngineRequest, EngineSupervisor } from '../engine/supervisor.js';
import type { HeadName } from '../heads/head.js';
import type { Log } from '../telemetry/log.js';
import type { Metrics } from '../telemetry/metrics.js';
import type { ModelPackage } from './package.js';
import { planFor, type ServingPlan } from './plan.js';

/** A model with its place in memory: the gate in front of it and the engine that runs it. */
export class ServedModel {
  readonly package: ModelPackage;
  readonly settings: ModelSettings;
  readonly plan: ServingPlan;
  readonly gate: Gate;
  readonly engine: EngineSupervisor;

  constructor(
    modelPackage: ModelPackage,
    entry: Partial<ModelEntry>,
    config: Config,
    cores: number,
    telemetry: { log: Log; metrics: Metrics },
  ) {
    this.package = modelPackage;
    this.settings = settingsOf(entry, config);
    this.plan = planFor(this.settings, cores);
    this.gate = new Gate({
      maxConcurrent: this.plan.maxConcurrent,
      maxQueue: this.settings.max_queue,
      maxQueueBytes: this.settings.max_queue_bytes,
    });
    this.engine = this.#createEngine(config, telemetry);
  }

  get name(): string {
    return this.package.name;
  }

  start(): Promise<Ready> {
    return this.engine.start();
  }

  /** Waits for its turn, then for the engine. */
  predict(request: EngineRequest, onAdmitted: () => void): Promise<EngineAnswer> {
    const bytes = request.image.reduce((sum, piece) => sum + piece.length, 0);
    return this.gate.run(bytes, request.cancellation, () => {
      onAdmitted();
      return this.engine.submit(request);
    });
  }

  #createEngine(
    config: Config,
    { log, metrics }: { log: Log; metrics: Metrics },
  ): EngineSupervisor {
    const model = this.name;
    const engineConfig = this.#engineConfig(config);
    return new EngineSupervisor(
      {
        spawn: (events) => new EngineLink(engineConfig, events),
        onBatch: (size) => {
          metrics.observe('inference_batch_size', { model }, size);
        },
        onDropped: ({ dropped: reason, stage }) => {
          metrics.count('shoal_dropped_items_total', { model, reason, stage });
        },
        onRestart: (reason, delayMs) => {
          metrics.count('shoal_engine_restarts_total', { model });
          log.error({ model, reason, restart_in_ms: delayMs }, 'engine ended, restarting it');
        },
        onBackUp: (loadMs) => {
          log.info({ model, load_ms: Math.round(loadMs) }, 'engine serves again');
        },
      },
      config.hang_timeout_ms,
    );
  }

  #engineConfig(config: Config): EngineConfig {
    const { manifest, modelPath } = this.package;
    const { sessions, threads, maxBatch, maxConcurrent, decodeLanes } = this.plan;
    return {
      modelPath,
      runtime: manifest.runtime ?? 'onnx',
      head: manifest.head as HeadName,
      labels: manifest.labels,
      input: manifest.input,
      plan: { sessions, threads, maxBatch },
      decodeLanes,
      batching: this.settings.batching,
      windowMs: this.settings.window_ms,
      maxItems: maxConcurrent,
      maxPixels: config.max_pixels,
      maxDecodeBytes: config.max_decode_bytes,
      hangTimeoutMs: config.hang_timeout_ms,
    };
  }
}

/** A model's own settings win over the general ones. */
function settingsOf(entry: Partial<ModelEntry>, config: Config): ModelSettings {
  return Object.fromEntries(
    MODEL_SETTING_KEYS.map((key) => [key, entry[key] ?? config[key]]),
  ) as unknown as ModelSettings;
}
