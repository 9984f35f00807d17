import { Gate, type GateLimits, type Visitor } from '../admission/gate.js';
import { CPU } from '../config/devices.js';
import { cacheFolderFor } from '../config/environment.js';
import type { Config, ModelEntry, ModelSettings } from '../config/schema.js';
import { MODEL_SETTING_KEYS } from '../config/schema.js';
import { EngineLink } from '../engine/engine-link.js';
import { EngineProbe } from '../engine/engine-probe.js';
import type { EngineAnswer, EngineRequest } from '../engine/item-book.js';
import type { EngineConfig } from '../engine/messages.js';
import { Quarantine } from '../engine/quarantine.js';
import { EngineSupervisor } from '../engine/supervisor.js';
import { ShoalError } from '../errors.js';
import type { HeadName } from '../heads/head.js';
import { Calibration } from '../planning/calibration.js';
import { latencyMs } from '../planning/curve.js';
import { hashFile, type Machine, runtimeVersion } from '../planning/machine.js';
import { planFor, type ServingPlan } from '../planning/plan.js';
import type { Profile } from '../planning/profile.js';
import { ProfileCache } from '../planning/profile-cache.js';
import type { Telemetry } from '../telemetry/telemetry.js';
import { ModelMeter } from './model-meter.js';
import type { ModelPackage } from './package.js';

/** A model with its place in memory: the gate in front of it and the engine that runs it. */
export class ServedModel {
  readonly package: ModelPackage;
  readonly settings: ModelSettings;
  readonly gate: Gate;
  readonly engine: EngineSupervisor;
  readonly quarantine: Quarantine;
  readonly meter: ModelMeter;
  readonly calibration: Calibration;
  readonly #config: Config;
  readonly #machine: Machine;
  readonly #telemetry: Telemetry;
  #plan: ServingPlan;
  #profile: Profile | undefined;
  /** The largest batch that fitted into memory when a larger one did not. */
  #ceiling = Infinity;

  constructor(
    modelPackage: ModelPackage,
    entry: Partial<ModelEntry>,
    config: Config,
    machine: Machine,
    telemetry: Telemetry,
  ) {
    this.package = modelPackage;
    this.settings = settingsOf(entry, config);
    this.#config = config;
    this.#machine = machine;
    this.#telemetry = telemetry;
    this.#plan = planFor(this.settings, machine);
    this.quarantine = new Quarantine(config.quarantine_ms);
    this.gate = new Gate(this.#gateLimits());
    this.meter = new ModelMeter(this.name, this.gate.forecast, telemetry.metrics);
    this.engine = this.#createEngine();
    this.calibration = this.#createCalibration();
  }

  get name(): string {
    return this.package.name;
  }

  get plan(): ServingPlan {
    return { ...this.#plan, maxBatch: Math.min(this.#plan.maxBatch, this.#ceiling) };
  }

  get profile(): Profile | undefined {
    return this.#profile;
  }

  /** Measures, where that is wanted and was not done before, and plans. */
  async prepare(): Promise<void> {
    const started = performance.now();
    const found = await this.calibration.obtain();
    if (found === undefined) return;
    if (!found.isCached) {
      const ms = Math.round(performance.now() - started);
      this.#telemetry.log.info({ model: this.name, ms, depth: found.profile.depth }, 'measured');
    }
    this.#adopt(found.profile);
    for (const warning of this.plan.warnings) {
      this.#telemetry.log.warn({ model: this.name }, warning);
    }
  }

  /** Plans anew; where that changes how the engine is built, another one takes over. */
  replan(profile: Profile): void {
    const before = this.#plan;
    this.#adopt(profile);
    const { sessions, threads, maxBatch, wideThreads } = this.#plan;
    const isSame =
      sessions === before.sessions &&
      threads === before.threads &&
      maxBatch === before.maxBatch &&
      wideThreads === before.wideThreads;
    const change = isSame ? 'the plan stays' : 'a new plan takes over';
    this.#telemetry.log.info(
      { model: this.name, plan: this.#plan.why },
      `measured again, ${change}`,
    );
    // The engine also holds the curves its policy decides by.
    this.engine.recycle();
  }

  /** Waits for its turn, then for the engine. */
  async predict(
    request: Omit<EngineRequest, 'rank'>,
    visitor: Visitor,
    onAdmitted: () => void,
  ): Promise<EngineAnswer> {
    this.meter.checkQuarantine(() => {
      this.quarantine.check(request.image);
    });
    const { cancellation } = request;
    const state = { isAdmitted: false };
    try {
      return await this.gate.run(visitor, cancellation, (rank) => {
        state.isAdmitted = true;
        onAdmitted();
        return this.engine.submit({ ...request, rank });
      });
    } catch (error) {
      if (!state.isAdmitted && error === cancellation.reason) {
        const reason = error instanceof ShoalError ? 'expired' : 'cancelled';
        this.meter.dropped(reason, 'waiting');
      }
      throw error;
    }
  }

  #adopt(profile: Profile): void {
    this.#profile = profile;
    this.#plan = planFor(this.settings, this.#machine, profile);
    const { sessions, maxBatch, curve } = this.#plan;
    const ms = latencyMs(curve, maxBatch) + maxBatch * profile.decodeMs;
    this.gate.forecast.setPlan(sessions, ms > 0 ? { size: maxBatch, ms } : undefined);
    this.gate.setLimits(this.#gateLimits());
  }

  #gateLimits(): GateLimits {
    const { max_wait_ms, max_queue, max_queue_bytes, slo_p99_ms } = this.settings;
    return {
      maxConcurrent: this.#plan.maxConcurrent,
      maxQueue: max_queue,
      maxQueueBytes: max_queue_bytes,
      maxWaitMs: max_wait_ms,
      targetMs: slo_p99_ms,
    };
  }

  #createEngine(): EngineSupervisor {
    const model = this.name;
    const { log, metrics } = this.#telemetry;
    return new EngineSupervisor(
      {
        spawn: (events) => new EngineLink(this.#engineConfig(), events),
        onBatch: (batch) => {
          this.meter.ran(batch);
        },
        onCeiling: (ceiling) => {
          if (ceiling >= this.#ceiling) return;
          this.#ceiling = ceiling;
          log.warn({ model, max_batch: ceiling }, 'not enough memory, smaller batches from now on');
        },
        onDropped: (outcome) => {
          this.meter.dropped(outcome.dropped, outcome.stage);
        },
        onWasted: (outcome, batch) => {
          this.meter.wasted(outcome.timings, batch);
        },
        onKiller: (request, kills) => {
          const isOver = this.quarantine.blame(request.image, kills);
          if (isOver) {
            this.meter.quarantined();
            log.error({ model }, 'an image that kills engines is in quarantine');
          }
          return isOver;
        },
        onRestart: (reason, delayMs) => {
          metrics.count('shoal_engine_restarts_total', { model });
          log.error({ model, reason, restart_in_ms: delayMs }, 'engine ended, restarting it');
        },
        onBackUp: (loadMs) => {
          log.info({ model, load_ms: Math.round(loadMs) }, 'engine serves again');
        },
      },
      this.#config.hang_timeout_ms,
    );
  }

  #createCalibration(): Calibration {
    const { runtime } = this.package.manifest;
    const folder = cacheFolderFor(this.#config.cache_dir);
    const { sessions, threads, max_batch } = this.settings;
    let hash: Promise<string> | undefined;
    return new Calibration({
      settings: this.settings,
      machine: this.#machine,
      cache: new ProfileCache(folder),
      key: async () => ({
        modelSha256: await (hash ??= hashFile(this.package.modelPath)),
        runtime: runtime === 'stub' ? 'stub' : runtimeVersion(),
        device: 'cpu',
        machine: this.#machine.name,
        scope: `${String(sessions)} × ${String(threads)}, ${String(max_batch)}`,
      }),
      engine: this.#engineConfig(),
      hostFor: (niceness) => ({
        spawn: (engine) => new EngineProbe(engine, niceness),
        now: () => performance.now(),
      }),
      onMeasure: (depth) => {
        this.#telemetry.log.info(
          { model: this.name, depth },
          'measuring, once for this model, machine and settings',
        );
      },
      onProblem: (problem) => {
        this.#telemetry.log.warn({ model: this.name }, problem);
      },
    });
  }

  #engineConfig(): EngineConfig {
    const { manifest, modelPath } = this.package;
    const { sessions, threads, wideThreads, maxConcurrent, decodeLanes } = this.#plan;
    const { maxBatch } = this.plan;
    const { cache_dir, max_pixels, max_decode_bytes, hang_timeout_ms } = this.#config;
    return {
      modelPath,
      runtime: manifest.runtime ?? 'onnx',
      device: CPU,
      cacheFolder: cacheFolderFor(cache_dir),
      buckets: [],
      isPipelined: false,
      countsNodes: false,
      head: manifest.head as HeadName,
      labels: manifest.labels,
      input: manifest.input,
      plan: { sessions, threads, maxBatch, wideThreads },
      curve: this.#plan.curve,
      wideCurve: this.#plan.wideCurve,
      warmBatches: warmBatches(maxBatch),
      warmUpMs: MAX_WARM_UP_MS,
      decodeLanes,
      batching: this.settings.batching,
      windowMs: this.settings.window_ms,
      // Interactive items may come while background ones hold all places.
      maxItems: 2 * maxConcurrent,
      maxPixels: max_pixels,
      maxDecodeBytes: max_decode_bytes,
      hangTimeoutMs: hang_timeout_ms,
    };
  }
}

/** Clients that wait for an engine are worse off than the first large batch would be. */
const MAX_WARM_UP_MS = 2000;

/** Powers of two, and the largest: what lies between them runs in the memory of the next. */
function warmBatches(maxBatch: number): number[] {
  const sizes: number[] = [];
  for (let size = 1; size < maxBatch; size *= 2) sizes.push(size);
  return [...sizes, maxBatch];
}

/** A model's own settings win over the general ones. */
function settingsOf(entry: Partial<ModelEntry>, config: Config): ModelSettings {
  return Object.fromEntries(
    MODEL_SETTING_KEYS.map((key) => [key, entry[key] ?? config[key]]),
  ) as unknown as ModelSettings;
}
