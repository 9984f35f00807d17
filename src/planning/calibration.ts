import type { ModelSettings } from '../config/schema.js';
import type { EngineConfig } from '../engine/messages.js';
import { isSame, splitsFor } from './exploration.js';
import { gpuSplits } from './gpu-plan.js';
import type { Machine } from './machine.js';
import {
  fasterOf,
  findSplit,
  type Profile,
  type Sample,
  type Split,
  summarise,
} from './profile.js';
import type { ProfileCache, ProfileKey } from './profile-cache.js';
import { measureSplit, type ProfilerHost } from './profiler.js';

export interface CalibrationOptions {
  readonly settings: ModelSettings;
  readonly machine: Machine;
  readonly cache: ProfileCache;
  readonly key: () => Promise<ProfileKey>;
  readonly engine: EngineConfig;
  /** @param niceness above 0 for work that must not be noticed */
  readonly hostFor: (niceness: number) => ProfilerHost;
  /** It is not in the cache, so somebody has to wait now. */
  readonly onMeasure: (depth: Profile['depth']) => void;
  /** What could not be read or written is worth a line, not a failure. */
  readonly onProblem: (message: string) => void;
}

/** A quick profile takes about this long, besides the start of its engines. */
const QUICK_MS = 450;
const QUICK_RUNS = 2;
/** On a GPU it is longer, since there is more to choose from, and runs are short. */
const GPU_QUICK_MS = 6000;
const GPU_QUICK_RUNS = 5;
const FULL_MS = 60_000;
const FULL_RUNS = 4;
/** How often every split is measured for a full profile, in turn. */
const FULL_ROUNDS = 3;
/** An engine on a GPU takes long to start, so each is started once and measured for longer. */
const GPU_FULL_ROUNDS = 1;
const GPU_FULL_RUNS = 15;
/** With the start of its engines, measuring takes this many times as long at most. */
const STARTS_TAKE = 3;
const IDLE_NICENESS = 19;
/** A profile that is off by more than this no longer describes the machine. */
const STALE = 1.3;

const CACHE_PATIENCE_MS = 2000;

/** A file system that does not answer must not keep the server from serving. */
function inTime<T>(answer: Promise<T>, folder: string): Promise<T> {
  const patience = new Promise<never>((_resolve, reject) => {
    setTimeout(() => {
      reject(new Error(`the cache folder ${folder} does not answer`));
    }, CACHE_PATIENCE_MS).unref();
  });
  return Promise.race([answer, patience]);
}

/** Gets the profile of one model: from the cache, by measuring, and better in idle moments. */
export class Calibration {
  readonly #options: CalibrationOptions;
  readonly #splits: readonly Split[];
  /** Of a full profile. */
  readonly #rounds: number;
  #samples: Sample[] = [];
  #provider = 'none';
  #roundsDone = 0;
  #splitsDone = 0;

  constructor(options: CalibrationOptions) {
    this.#options = options;
    const { engine, settings, machine } = options;
    const { sessions, threads } = settings;
    this.#rounds = engine.isPipelined ? GPU_FULL_ROUNDS : FULL_ROUNDS;
    this.#splits = engine.isPipelined
      ? gpuSplits(engine.device.name, settings)
      : splitsFor(machine.cores, {
          ...(sessions !== 'auto' && { sessions }),
          ...(threads !== 'auto' && { threads }),
        });
  }

  /** The profile to start with. `undefined` when none is wanted. */
  async obtain(): Promise<{ profile: Profile; isCached: boolean } | undefined> {
    const { settings, engine } = this.#options;
    if (settings.profile === 'off') return undefined;
    const profile = await this.recall();
    if (profile !== undefined) return { profile, isCached: true };
    const isQuick = settings.profile === 'quick';
    this.#options.onMeasure(settings.profile);
    const host = this.#options.hostFor(0);
    const { signal } = new AbortController();
    const started = host.now();
    const rounds = isQuick ? 1 : this.#rounds;
    const steps = rounds * this.#splits.length;
    const quickMs = engine.isPipelined ? GPU_QUICK_MS : QUICK_MS;
    const totalMs = isQuick ? quickMs : FULL_MS;
    for (let step = 0; step < steps; step++) {
      // Slow models use the time up with the first split, which is measured in any case.
      if (step > 0 && host.now() > started + totalMs * STARTS_TAKE) break;
      const budgetMs = totalMs / steps;
      await this.#measure(
        this.#splits[step % this.#splits.length] as Split,
        budgetMs,
        isQuick,
        0,
        signal,
      );
    }
    const fresh = this.#summary(isQuick ? 'quick' : 'full');
    this.#forget();
    await this.#writeCache(fresh);
    return { profile: fresh, isCached: false };
  }

  /** The profile from the cache, when it is good enough. */
  async recall(): Promise<Profile | undefined> {
    const { settings, key } = this.#options;
    if (settings.profile === 'off') return undefined;
    const cached = await this.#readCache(await key());
    return settings.profile === 'quick' || cached?.depth === 'full' ? cached : undefined;
  }

  /**
   * Goes on measuring, for moments without traffic. What an abort interrupts is taken up again
   * the next time.
   * @param before what is known and still true; `undefined` when the machine has changed
   * @returns the better profile once all of it is measured
   */
  async refine(before: Profile | undefined, signal: AbortSignal): Promise<Profile | undefined> {
    while (this.#roundsDone < this.#rounds) {
      const split = this.#splits[this.#splitsDone] as Split;
      await this.#measure(split, Infinity, false, IDLE_NICENESS, signal);
      if (signal.aborted) return undefined;
      this.#splitsDone = (this.#splitsDone + 1) % this.#splits.length;
      if (this.#splitsDone === 0) this.#roundsDone++;
    }
    const measured = this.#summary('full');
    const isComplete = this.#splits.every((split) => findSplit(measured, split) !== undefined);
    // Something was in the way, such as memory. What is known is better than a part of it.
    if (!isComplete) {
      this.#forget();
      throw new Error('not everything could be measured');
    }
    const profile = before === undefined ? measured : fasterOf(before, measured);
    this.#forget();
    await this.#writeCache(profile);
    return profile;
  }

  /**
   * Whether a profile from the cache still describes this machine, by a short look at one split.
   * @returns `undefined` when it was interrupted
   */
  async isStale(profile: Profile, split: Split, signal: AbortSignal): Promise<boolean | undefined> {
    const known = findSplit(profile, split);
    const fresh = new Calibration(this.#options);
    await fresh.#measure(split, 0, true, IDLE_NICENESS, signal);
    if (signal.aborted || known === undefined) return signal.aborted ? undefined : true;
    const now = findSplit(fresh.#summary('quick'), split)?.points[0];
    const then = known.points.find(({ batch }) => batch === now?.batch);
    // What could not be measured says nothing.
    if (now === undefined || then === undefined) return undefined;
    return Math.max(now.ms / then.ms, then.ms / now.ms) > STALE;
  }

  /** Starts over. */
  #forget(): void {
    this.#samples = [];
    this.#roundsDone = 0;
    this.#splitsDone = 0;
  }

  async #measure(
    split: Split,
    budgetMs: number,
    isQuick: boolean,
    niceness: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { hostFor, engine, settings, machine } = this.#options;
    const maxBatch = settings.max_batch === 'auto' ? undefined : settings.max_batch;
    const [quickRuns, fullRuns] = engine.isPipelined
      ? [GPU_QUICK_RUNS, GPU_FULL_RUNS]
      : [QUICK_RUNS, FULL_RUNS];
    const runs = isQuick ? quickRuns : fullRuns;
    const limits = { budgetMs, runs, maxBatch, machine };
    const first = this.#splits[0] as Split;
    try {
      const measured = await measureSplit(hostFor(niceness), engine, split, limits, signal);
      // Half of a split would weigh batch sizes differently.
      if (signal.aborted) return;
      this.#samples.push(...measured.samples);
      this.#provider = measured.provider;
    } catch (error) {
      // If the first split cannot be measured, the model cannot be loaded.
      if (isSame(split, first) && niceness === 0) throw error;
      this.#options.onProblem(`a split could not be measured: ${(error as Error).message}`);
    }
  }

  #summary(depth: Profile['depth']): Profile {
    const measuredAt = new Date().toISOString();
    return summarise(this.#samples, { provider: this.#provider, measuredAt, depth });
  }

  async #readCache(key: ProfileKey): Promise<Profile | undefined> {
    const { cache, onProblem } = this.#options;
    try {
      return await inTime(cache.read(key), cache.folder);
    } catch (error) {
      onProblem(`the profile could not be read: ${(error as Error).message}`);
      return undefined;
    }
  }

  async #writeCache(profile: Profile): Promise<void> {
    const { cache, key, onProblem } = this.#options;
    try {
      await inTime(cache.write(await key(), profile), cache.folder);
    } catch (error) {
      onProblem(`the profile could not be kept: ${(error as Error).message}`);
    }
  }
}
