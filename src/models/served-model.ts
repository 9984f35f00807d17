import { Gate, type GateLimits, type Visitor } from '../admission/gate.js';
import { CPU, type Device } from '../config/devices.js';
import type { Config, ModelEntry, ModelSettings } from '../config/schema.js';
import { MODEL_SETTING_KEYS } from '../config/schema.js';
import { cpuVariant, isOnCpu, type Variant } from '../devices/variant.js';
import { EngineLink } from '../engine/engine-link.js';
import type { Intakes } from '../engine/intakes.js';
import type { EngineAnswer, EngineRequest } from '../engine/item-book.js';
import { Quarantine } from '../engine/quarantine.js';
import { EngineSupervisor } from '../engine/supervisor.js';
import { ShoalError } from '../errors.js';
import type { Detection } from '../heads/detection.js';
import type { Calibration } from '../planning/calibration.js';
import { latencyMs } from '../planning/curve.js';
import type { Machine } from '../planning/machine.js';
import type { ServingPlan } from '../planning/plan.js';
import type { Profile } from '../planning/profile.js';
import type { Telemetry } from '../telemetry/telemetry.js';
import { Calibrations } from './calibrations.js';
import { DeviceChoice } from './device-choice.js';
import { EngineCare } from './engine-care.js';
import { engineConfigFor, makeshiftConfigFor, type ModelSource } from './engine-config.js';
import { ModelMeter } from './model-meter.js';
import type { ModelPackage } from './package.js';

/** What models share with the rest of the server. */
export interface ModelHost {
  readonly config: Config;
  readonly machine: Machine;
  readonly telemetry: Telemetry;
  /** When engines take items from other processes as well. */
  readonly intakes?: Intakes | undefined;
  /** Bytes that a process holds on GPUs, where that is known. */
  gpuBytesOf(pid: number): number | undefined;
}

/** A model with its place in memory: the gate in front of it and the engines that run it. */
export class ServedModel {
  readonly package: ModelPackage;
  readonly settings: ModelSettings;
  readonly gate: Gate;
  readonly engine: EngineSupervisor;
  readonly quarantine: Quarantine;
  readonly meter: ModelMeter;
  readonly #host: ModelHost;
  readonly #calibrations: Calibrations;
  /** The CPU, until something else is chosen. */
  #variant: Variant;
  #plan: ServingPlan;
  #profile: Profile | undefined;
  /** What the CPU finds in a known picture, where that was asked. */
  #expected: readonly Detection[] | undefined;
  #care: EngineCare | undefined;

  constructor(modelPackage: ModelPackage, entry: Partial<ModelEntry>, host: ModelHost) {
    const { config, machine, telemetry } = host;
    this.package = modelPackage;
    this.settings = settingsOf(entry, config);
    this.#host = host;
    this.#calibrations = new Calibrations(this.#source, machine, telemetry.log);
    this.#variant = cpuVariant(this.settings);
    this.#plan = this.#calibrations.plan(this.#variant);
    this.quarantine = new Quarantine(config.quarantine_ms);
    this.gate = new Gate(this.#gateLimits());
    this.meter = new ModelMeter(this.name, this.gate.forecast, telemetry.metrics);
    this.engine = this.#createEngine();
  }

  get #source(): ModelSource {
    return { package: this.package, settings: this.settings, config: this.#host.config };
  }

  get name(): string {
    return this.package.name;
  }

  /** As it is carried out: with less memory than was planned for, batches are smaller. */
  get plan(): ServingPlan {
    return { ...this.#plan, maxBatch: Math.min(this.#plan.maxBatch, this.engine.ceiling) };
  }

  get profile(): Profile | undefined {
    return this.#profile;
  }

  /** What it is served on. */
  get variant(): Variant {
    return this.#variant;
  }

  /** Each has an engine of its own. */
  get devices(): readonly Device[] {
    return this.#variant.devices;
  }

  get calibration(): Calibration {
    return this.#calibrations.for(this.#variant);
  }

  /** Chooses what to serve on, measures where that was not done before, and plans. */
  async prepare(): Promise<void> {
    const { log } = this.#host.telemetry;
    const choice = new DeviceChoice(this.#source, this.#calibrations, log);
    this.#variant = await choice.make();
    this.#expected = choice.expected;
    this.#adopt(await this.#calibrations.profile(this.#variant));
    for (const warning of this.plan.warnings) log.warn({ model: this.name }, warning);
  }

  /** Resolves when all its engines serve. */
  async start(): Promise<void> {
    const { config, telemetry } = this.#host;
    await this.engine.start(this.devices.length);
    this.#care = new EngineCare(this.engine, {
      model: this.name,
      config,
      telemetry,
      expected: this.#expected,
      gpuBytesOf: (pid) => this.#host.gpuBytesOf(pid),
    });
    this.#care.start();
  }

  stop(): void {
    this.#care?.stop();
    this.engine.stop();
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
    this.#host.telemetry.log.info(
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

  #adopt(profile: Profile | undefined): void {
    this.#profile = profile;
    this.#plan = this.#calibrations.plan(this.#variant, profile);
    this.gate.setLimits(this.#gateLimits());
    if (profile === undefined) return;
    const { sessions, maxBatch, curve } = this.#plan;
    // Only on the CPU are pictures decoded by who runs them.
    const decodeMs = isOnCpu(this.#variant) ? profile.decodeMs : 0;
    const ms = latencyMs(curve, maxBatch) + maxBatch * decodeMs;
    const all = sessions * this.devices.length;
    this.gate.forecast.setPlan(all, ms > 0 ? { size: maxBatch, ms } : undefined);
  }

  #gateLimits(): GateLimits {
    const { max_wait_ms, max_queue, max_queue_bytes, slo_p99_ms } = this.settings;
    return {
      maxConcurrent: this.#plan.maxConcurrent * this.devices.length,
      maxQueue: max_queue,
      maxQueueBytes: max_queue_bytes,
      maxWaitMs: max_wait_ms,
      targetMs: slo_p99_ms,
    };
  }

  #createEngine(): EngineSupervisor {
    const model = this.name;
    const { config, telemetry, intakes } = this.#host;
    const { log, metrics } = telemetry;
    return new EngineSupervisor(
      {
        spawn: (events, seat, isUrgent) => {
          const device = this.devices[seat] ?? CPU;
          const { ceiling } = this.engine;
          const engine = {
            ...engineConfigFor(this.#source, this.#plan, this.#variant, device),
            ...(Number.isFinite(ceiling) && { ceiling }),
          };
          const wanted = isUrgent ? makeshiftConfigFor(engine) : engine;
          return new EngineLink(wanted, events, 0, intakes);
        },
        onBatch: (batch) => {
          this.meter.ran(batch);
        },
        onCeiling: (ceiling) => {
          log.warn({ model, max_batch: ceiling }, 'not enough memory, smaller batches for a while');
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
        onBackUp: (loadMs, hasTakenOver) => {
          const news = hasTakenOver ? 'a new engine has taken over' : 'engine serves again';
          log.info({ model, load_ms: Math.round(loadMs) }, news);
        },
      },
      config.hang_timeout_ms,
    );
  }
}

/** A model's own settings win over the general ones. */
function settingsOf(entry: Partial<ModelEntry>, config: Config): ModelSettings {
  return Object.fromEntries(
    MODEL_SETTING_KEYS.map((key) => [key, entry[key] ?? config[key]]),
  ) as unknown as ModelSettings;
}
