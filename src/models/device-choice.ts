import { cacheFolderFor } from '../config/environment.js';
import { checkPictures } from '../devices/check-pictures.js';
import { choose, type Rated } from '../devices/choice.js';
import { finderFor, probeLimitMs } from '../devices/finder.js';
import { Prober } from '../devices/prober.js';
import {
  cpuVariant,
  DeviceError,
  describeVariant,
  nameOf,
  type Variant,
  variantsFor,
} from '../devices/variant.js';
import { EngineProbe } from '../engine/engine-probe.js';
import type { Detection } from '../heads/detection.js';
import type { Log } from '../telemetry/log.js';
import type { Calibrations } from './calibrations.js';
import { engineConfigFor, type ModelSource, probeConfigFor } from './engine-config.js';

/** Finds out what a model is to be served on, by its settings and by trying. */
export class DeviceChoice {
  readonly #source: ModelSource;
  readonly #calibrations: Calibrations;
  readonly #log: Log;
  /** What the CPU finds in the first check picture; known when something was compared with it. */
  expected: readonly Detection[] | undefined;

  constructor(source: ModelSource, calibrations: Calibrations, log: Log) {
    this.#source = source;
    this.#calibrations = calibrations;
    this.#log = log;
  }

  /** @throws when what was asked for by name cannot be had */
  async make(): Promise<Variant> {
    const { package: modelPackage, settings, config } = this.#source;
    const hasFp16 = modelPackage.fp16Path !== undefined;
    if (settings.precision === 'fp16' && !hasFp16) {
      throw new Error('precision fp16 needs model.fp16.onnx beside the model, and there is none');
    }
    const isStub = modelPackage.manifest.runtime === 'stub';
    const finder = finderFor(cacheFolderFor(config.cache_dir), isStub);
    try {
      const variants = variantsFor(settings, hasFp16, finder);
      if (variants.length > 0) return await this.#choose(variants);
    } catch (error) {
      throw error instanceof DeviceError ? error.withHint() : error;
    }
    if (settings.device === 'auto') this.#info(NO_GPU);
    return cpuVariant(settings);
  }

  async #choose(variants: readonly Variant[]): Promise<Variant> {
    const { settings } = this.#source;
    const isNamed = settings.device !== 'auto';
    const prober = this.#prober(isNamed);
    const rate = async (variant: Variant): Promise<number> => {
      const profile = await this.#calibrations.profile(variant);
      const { imagesPerSecond = 0 } = this.#calibrations.plan(variant, profile);
      return imagesPerSecond * variant.devices.length;
    };
    const { variant, rated } = await choose(variants, isNamed ? undefined : cpuVariant(settings), {
      isUnmeasured: settings.profile === 'off',
      prove: (one) => prober.prove(one),
      recall: async (one) => {
        const known = await this.#calibrations.for(one).recall();
        return known === undefined ? undefined : rate(one);
      },
      measure: rate,
      onRefused: (one, reason) => {
        // A single one that was asked for is an error, which says it.
        if (!isNamed || variants.length > 1) this.#refused(describeVariant(one), reason);
      },
    });
    this.expected = await prober.expected();
    const why = settings.profile === 'off' ? 'not measured' : ratesOf(rated);
    this.#info(`serving on ${describeVariant(variant)} (${why})`);
    return variant;
  }

  #prober(isStrict: boolean): Prober {
    return new Prober({
      isStrict,
      configFor: (variant) => {
        const plan = this.#calibrations.plan(variant);
        return probeConfigFor(engineConfigFor(this.#source, plan, variant));
      },
      spawn: (config) => new EngineProbe(config, 0),
      pictures: checkPictures,
      limitMs: ({ name }) => probeLimitMs(name),
      onWorks: (variant, { provider, placement }) => {
        const part =
          placement === undefined
            ? provider
            : `${provider} runs ${String(placement.nodes)} of ${String(placement.ofNodes)} nodes`;
        this.#info(`${describeVariant(variant)} works and finds what the CPU finds (${part})`);
      },
      onBroken: (device, reason) => {
        this.#refused(nameOf(device), reason);
      },
    });
  }

  #info(text: string): void {
    this.#log.info({ model: this.#source.package.name }, text);
  }

  #refused(what: string, reason: string): void {
    this.#log.warn({ model: this.#source.package.name }, `${what} is not used: ${tidy(reason)}`);
  }
}

/** Native code begins with its own place and condition, which say nothing to an operator. */
function tidy(reason: string): string {
  return reason.replace(/^.* was false\. /s, '').trim();
}

const NO_GPU = 'no GPU found, serving on the CPU; `shoal gpu` says why';

function ratesOf(rated: readonly Rated[]): string {
  if (rated.every(({ rate }) => rate === 0)) return 'nothing else works';
  return rated
    .map(({ variant, rate }) => `${describeVariant(variant)} ${rate.toFixed(0)} images/s`)
    .join(', ');
}
