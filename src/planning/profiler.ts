import type { EngineConfig, Measured } from '../engine/messages.js';
import { bucketsUpTo, largestBucket, nextBucket } from './buckets.js';
import { nextBatch } from './exploration.js';
import type { Machine } from './machine.js';
import { type ProfilePoint, type Sample, type Split, summarise } from './profile.js';

/** An engine process that only measures. */
export interface Probe {
  measure(batch: number, runs: number): Promise<Measured>;
  /** Resolves with the provider when it has loaded the model. */
  start(): Promise<string>;
  kill(): void;
}

export interface ProfilerHost {
  spawn(config: EngineConfig): Probe;
  now(): number;
}

export interface MeasureLimits {
  /**
   * No new measurement is begun this long after the engine has started. On a GPU the first runs of
   * every batch size do not count: how long they take says nothing about how many there will be.
   */
  readonly budgetMs: number;
  /** Runs of a batch size per session. */
  readonly runs: number;
  /** The largest batch, when it is set by hand. */
  readonly maxBatch: number | undefined;
  readonly machine: Machine;
}

/** A probe has room for this many bytes of input, however many pictures that is. */
const PROBE_INPUT_BYTES = 2 ** 28;

/**
 * Measures one split in an engine of its own, which is killed afterwards: whatever it allocated
 * is gone with it, and if it dies the server has lost nothing. Batch sizes are measured in turn,
 * twice around, so that a slow moment of the machine does not hit one of them alone.
 * @param signal ends it at once; what was measured until then is returned
 */
export async function measureSplit(
  host: ProfilerHost,
  base: EngineConfig,
  split: Split,
  limits: MeasureLimits,
  signal: AbortSignal,
): Promise<{ samples: Sample[]; provider: string }> {
  const samples: Sample[] = [];
  if (signal.aborted) return { samples, provider: 'none' };
  const config = probeConfig(base, split, limits.maxBatch);
  const { plan } = config;
  const probe = host.spawn(config);
  const stop = (): void => {
    probe.kill();
  };
  signal.addEventListener('abort', stop);
  let provider = 'none';
  try {
    provider = await probe.start();
    let startedAt = host.now();
    const take = async (batch: number): Promise<void> => {
      const measured = await probe.measure(batch, limits.runs);
      const { ms, decodeMs, rssBytes } = measured;
      samples.push({ ...split, batch, ms, decodeMs, rssBytes });
    };
    const mayGoOn = (): boolean => host.now() - startedAt < limits.budgetMs;
    const sizes: number[] = [];
    for (;;) {
      const batch = following(samples, base, limits);
      if (batch === undefined || batch > plan.maxBatch || (sizes.length > 0 && !mayGoOn())) break;
      // The first run of a batch size allocates; only later ones count.
      const coldAt = host.now();
      await probe.measure(batch, 1);
      if (base.isPipelined) startedAt += host.now() - coldAt;
      await take(batch);
      sizes.push(batch);
    }
    for (const batch of sizes) if (mayGoOn()) await take(batch);
  } catch (error) {
    // The first split must work: if it does not, the model does not.
    if (samples.length === 0 && !(signal.aborted as boolean)) throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    probe.kill();
  }
  return { samples, provider };
}

function following(
  samples: readonly Sample[],
  { isPipelined, device }: EngineConfig,
  { machine, maxBatch }: MeasureLimits,
): number | undefined {
  const points = pointsOf(samples);
  return isPipelined
    ? nextBucket(points, machine, maxBatch, device.name)
    : nextBatch(points, machine, maxBatch);
}

function pointsOf(samples: readonly Sample[]): readonly ProfilePoint[] {
  const about = { provider: '', measuredAt: '', depth: 'quick' } as const;
  return summarise(samples, about).splits[0]?.points ?? [];
}

function probeConfig(
  base: EngineConfig,
  { sessions, threads }: Split,
  wanted: number | undefined,
): EngineConfig {
  const { width, height } = base.input;
  const room = Math.max(1, Math.floor(PROBE_INPUT_BYTES / (width * height * 3)));
  const shape = { sessions, threads, wideThreads: 0 };
  if (base.isPipelined) {
    const maxBatch = Math.min(room, wanted ?? largestBucket(base.device.name));
    // Its sessions need the other threads, as in service.
    return {
      ...base,
      plan: { ...shape, maxBatch },
      buckets: bucketsUpTo(maxBatch, base.device.name),
      warmBatches: [1],
    };
  }
  return {
    ...base,
    plan: { ...shape, maxBatch: room },
    warmBatches: [1],
    decodeLanes: 0,
    maxItems: 1,
  };
}
