import { ConfigError } from '../config/load.js';
import { isTestRun } from '../config/environment.js';
import type { Config, ModelEntry } from '../config/schema.js';
import { ShoalError } from '../errors.js';
import { thisMachine } from '../planning/machine.js';
import type { Metrics } from '../telemetry/metrics.js';
import type { Telemetry } from '../telemetry/telemetry.js';
import { IdleWork } from './idle-work.js';
import { BUNDLED_MODEL, type ModelPackage, readPackages } from './package.js';
import { type ModelHost, ServedModel } from './served-model.js';

/** How models reach what is not theirs. */
export type ModelLinks = Pick<ModelHost, 'intakes' | 'gpuBytesOf'>;

/** The models that are served, by name. */
export class ModelRegistry {
  readonly #models: ReadonlyMap<string, ServedModel>;
  readonly default: ServedModel;
  readonly #idleWork: IdleWork;

  constructor(config: Config, telemetry: Telemetry, links: ModelLinks) {
    const models = new Map<string, ServedModel>();
    const host = { config, telemetry, machine: thisMachine(), ...links };
    for (const [modelPackage, entry] of packagesOf(config)) {
      if (models.has(modelPackage.name)) {
        throw new ConfigError(`two models are called "${modelPackage.name}"`);
      }
      if (modelPackage.manifest.runtime === 'stub' && !isTestRun()) {
        throw new ConfigError(`"${modelPackage.name}" is a test double and is not served`);
      }
      const model = new ServedModel(modelPackage, entry, host);
      models.set(modelPackage.name, model);
    }
    const [first] = models.values();
    const chosen = config.default_model === '' ? first : models.get(config.default_model);
    if (chosen === undefined) {
      throw new ConfigError(`the default model "${config.default_model}" is not among the models`);
    }
    this.#models = models;
    this.default = chosen;
    this.#idleWork = new IdleWork([...models.values()], telemetry.log);
    telemetry.metrics.onCollect(() => {
      for (const model of models.values()) setGauges(model, telemetry.metrics);
    });
  }

  get all(): readonly ServedModel[] {
    return [...this.#models.values()];
  }

  /** Whether anything can be served at all. */
  get canServe(): boolean {
    return this.all.some(({ engine, gate }) => engine.isReady && !gate.isClosed);
  }

  /** `undefined` is the default model. */
  find(name: string | undefined): ServedModel | undefined {
    return name === undefined ? this.default : this.#models.get(name);
  }

  get(name: string | undefined): ServedModel {
    const model = this.find(name);
    if (model === undefined) {
      throw new ShoalError('model_not_found', 'No model of that name is loaded; see GET /models.');
    }
    return model;
  }

  /** Resolves when every model serves; rejects with the first that cannot. */
  async start(): Promise<void> {
    // Side by side, measurements would be of each other.
    for (const model of this.all) await loading(model, () => model.prepare());
    await Promise.all(this.all.map((model) => loading(model, () => model.start())));
    this.#idleWork.start();
  }

  stop(): void {
    this.#idleWork.stop();
    for (const model of this.all) model.stop();
  }
}

async function loading(model: ServedModel, step: () => Promise<unknown>): Promise<void> {
  try {
    await step();
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`model "${model.name}" cannot be loaded: ${message}`, { cause: error });
  }
}

function packagesOf(config: Config): (readonly [ModelPackage, Partial<ModelEntry>])[] {
  const entries = config.models.length === 0 ? [{ path: BUNDLED_MODEL }] : config.models;
  try {
    return entries.flatMap((entry) =>
      readPackages(entry.path).map((modelPackage) => [modelPackage, entry] as const),
    );
  } catch (error) {
    throw new ConfigError((error as Error).message);
  }
}

function setGauges(model: ServedModel, metrics: Metrics): void {
  const labels = { model: model.name };
  const { engine, gate, quarantine } = model;
  metrics.set('shoal_queue_depth', labels, gate.waiting);
  metrics.set('shoal_in_flight', labels, gate.inFlight);
  metrics.set('shoal_engine_memory_bytes', labels, engine.vitals.rssBytes);
  metrics.set('shoal_drift_ratio', labels, engine.vitals.drift);
  metrics.set('shoal_quarantined_images', labels, quarantine.size);
  if (engine.provider !== undefined) {
    const { provider } = engine;
    metrics.set('shoal_engine_up', { ...labels, provider }, engine.isReady ? 1 : 0);
  }
}
