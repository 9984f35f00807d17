import { cacheFolderFor } from '../config/environment.js';
import { describeVariant, type Variant } from '../devices/variant.js';
import { EngineProbe } from '../engine/engine-probe.js';
import { Calibration } from '../planning/calibration.js';
import { hashFile, type Machine, runtimeVersion } from '../planning/machine.js';
import type { ServingPlan } from '../planning/plan.js';
import type { Profile } from '../planning/profile.js';
import { ProfileCache } from '../planning/profile-cache.js';
import { servingPlan } from '../planning/serving-plan.js';
import type { Log } from '../telemetry/log.js';
import { engineConfigFor, type ModelSource } from './engine-config.js';

/** What is measured about one model, by what it can run on. Devices of a kind are taken for equal. */
export class Calibrations {
  readonly #source: ModelSource;
  readonly #machine: Machine;
  readonly #log: Log;
  readonly #known = new Map<string, Calibration>();
  readonly #profiles = new Map<Calibration, Profile>();

  constructor(source: ModelSource, machine: Machine, log: Log) {
    this.#source = source;
    this.#machine = machine;
    this.#log = log;
  }

  plan({ devices }: Pick<Variant, 'devices'>, profile?: Profile): ServingPlan {
    return servingPlan(this.#source.settings, this.#machine, devices, profile);
  }

  /** From the cache or by measuring. `undefined` when nothing is to be measured. */
  async profile(variant: Variant): Promise<Profile | undefined> {
    const calibration = this.for(variant);
    const known = this.#profiles.get(calibration);
    if (known !== undefined) return known;
    const started = performance.now();
    const found = await calibration.obtain();
    if (found === undefined) return undefined;
    const { profile, isCached } = found;
    this.#profiles.set(calibration, profile);
    if (!isCached) {
      const ms = Math.round(performance.now() - started);
      const device = describeVariant(variant);
      this.#log.info({ model: this.#name, ms, depth: profile.depth, device }, 'measured');
    }
    return profile;
  }

  for(variant: Variant): Calibration {
    const { precision, devices } = variant;
    const name = describeVariant({ precision, devices: devices.slice(0, 1) });
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const made = this.#create(variant, name);
    this.#known.set(name, made);
    return made;
  }

  #create(variant: Variant, device: string): Calibration {
    const { package: modelPackage, settings, config } = this.#source;
    const { sessions, threads, max_batch } = settings;
    const engine = engineConfigFor(this.#source, this.plan(variant), variant);
    let hash: Promise<string> | undefined;
    return new Calibration({
      settings,
      machine: this.#machine,
      cache: new ProfileCache(cacheFolderFor(config.cache_dir)),
      key: async () => ({
        modelSha256: await (hash ??= hashFile(engine.modelPath)),
        runtime: modelPackage.manifest.runtime === 'stub' ? 'stub' : runtimeVersion(),
        device,
        machine: this.#machine.name,
        scope: `${String(sessions)} × ${String(threads)}, ${String(max_batch)}`,
      }),
      engine,
      hostFor: (niceness) => ({
        spawn: (probe) => new EngineProbe(probe, niceness),
        now: () => performance.now(),
      }),
      onMeasure: (depth) => {
        this.#log.info(
          { model: this.#name, depth, device },
          'measuring, once for this model, machine and settings',
        );
      },
      onProblem: (problem) => {
        this.#log.warn({ model: this.#name }, problem);
      },
    });
  }

  get #name(): string {
    return this.#source.package.name;
  }
}
