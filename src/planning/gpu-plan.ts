import type { DeviceName } from '../config/devices.js';
import type { ModelSettings } from '../config/schema.js';
import { imagesPerSecond, latencyMs } from './curve.js';
import { isSame } from './exploration.js';
import type { Machine } from './machine.js';
import type { ServingPlan } from './plan.js';
import { curveOf, findSplit, type Profile, type Split } from './profile.js';
import { byHand, inTime, ms, perSecond, targetWarning } from './plan-words.js';

/** Sessions side by side fill the pauses of one another; more than these gain nothing. */
const CUDA_SESSIONS = [1, 2] as const;
/** Without a profile: batches are nearly free up to here on any GPU. */
const UNMEASURED_BATCH = 8;
/** Measurements that differ by less are taken for equal, and the cheaper one wins. */
const TIE = 0.02;
/** CPU that a request costs besides decoding: received, handed over, run and answered. */
const AROUND_MS = 0.8;
/**
 * A GPU should be this much faster than the cores can feed it: next to cores that were all busy, a
 * session with nearly full batches reached two thirds of what it does alone.
 */
const HEADROOM = 1.4;
/** So many more threads decode than there are cores, for those that wait for their next picture. */
const SPARE_LANES = 1 / 8;
/** Hand-set values that lose more than this are pointed out. */
const COSTLY = 0.1;

interface Candidate extends Split {
  readonly batch: number;
  readonly ms: number;
  /** Of the GPU alone. */
  readonly rate: number;
}

/**
 * How many sessions a GPU is worth measuring with. They need no cores of their own: each has one
 * thread, which waits. Only CUDA's stand each other in one process; two of WebGPU crash it.
 */
export function gpuSplits(device: DeviceName, settings: SplitSettings): Split[] {
  const threads = settings.threads === 'auto' ? 1 : settings.threads;
  if (device !== 'cuda') return [{ sessions: 1, threads }];
  const all: readonly number[] = settings.sessions === 'auto' ? CUDA_SESSIONS : [settings.sessions];
  return all.map((sessions) => ({ sessions, threads }));
}
type SplitSettings = Pick<ModelSettings, 'sessions' | 'threads'>;

/**
 * The plan for a GPU. Sessions only run; all cores decode, and with more GPUs than one they share
 * the cores.
 */
export function planForGpu(
  settings: ModelSettings,
  machine: Machine,
  { device, engines }: { readonly device: DeviceName; readonly engines: number },
  profile?: Profile,
): ServingPlan {
  const cores = machine.cores / engines;
  const decodeLanes = Math.floor(cores) + Math.ceil(cores * SPARE_LANES);
  const [split] = gpuSplits(device, settings) as [Split];
  const decodeMs = profile?.decodeMs ?? 0;
  const decodeRate = rateOfCores(cores, decodeMs);
  const coresRate = rateOfCores(cores, decodeMs === 0 ? 0 : decodeMs + AROUND_MS);
  const all = profile === undefined ? [] : candidatesOf(profile, settings, device);
  const chosen = best(all, coresRate);
  const fallback = settings.max_batch === 'auto' ? UNMEASURED_BATCH : settings.max_batch;
  const maxBatch = chosen?.batch ?? fallback;
  const { sessions, threads } = chosen ?? split;
  const planned = sessions * 4 * maxBatch + 3 * decodeLanes;
  const base = {
    sessions,
    threads,
    maxBatch,
    wideThreads: 0,
    wideCurve: [],
    decodeLanes,
    // One batch runs, the next waits, one grows and one is on its way back; and every thread has a
    // picture, the next one, and one that is arriving.
    maxConcurrent: settings.max_concurrent === 'auto' ? planned : settings.max_concurrent,
  };
  const ignored = ignoredWarning(settings, device);
  if (profile === undefined || chosen === undefined) {
    const why = `not measured, the usual for ${device}`;
    return { ...base, curve: [], why, warnings: ignored };
  }
  // As for the CPU, with which it is compared: only what decodes and runs counts.
  const rate = Math.min(chosen.rate, decodeRate);
  return {
    ...base,
    curve: curveOf(findSplit(profile, chosen)),
    imagesPerSecond: rate,
    why: explain(chosen, profile, settings, { device, coresRate }),
    warnings: [
      ...ignored,
      ...costWarning(settings, chosen, coresRate, profile),
      ...targetWarning(settings, chosen.ms),
    ],
  };
}

/** Images per second that cost this much CPU each; no limit where that is not known. */
function rateOfCores(cores: number, imageMs: number): number {
  return cores * imagesPerSecond({ batch: 1, ms: imageMs });
}

function candidatesOf(profile: Profile, settings: ModelSettings, device: DeviceName): Candidate[] {
  const splits = gpuSplits(device, settings);
  const measured = profile.splits.filter((split) => splits.some((one) => isSame(one, split)));
  const all = measured.flatMap(({ sessions, threads, points }) => {
    const curve = curveOf({ sessions, threads, points });
    const sizes =
      settings.max_batch === 'auto' ? points.map(({ batch }) => batch) : [settings.max_batch];
    return sizes.map((batch) => candidate({ sessions, threads }, batch, latencyMs(curve, batch)));
  });
  return inTime(all, settings.slo_p99_ms);
}

function candidate(split: Split, batch: number, batchMs: number): Candidate {
  const rate = split.sessions * imagesPerSecond({ batch, ms: batchMs });
  return { ...split, batch, ms: batchMs, rate };
}

/**
 * The highest throughput that the cores can feed. Among those that reach it the fewest sessions,
 * since a thread that waits for a GPU keeps a core busy, and then the shortest batch.
 */
function best(candidates: readonly Candidate[], coresRate: number): Candidate | undefined {
  const useful = (one: Candidate): number => Math.min(one.rate, coresRate * HEADROOM);
  const top = Math.max(...candidates.map(useful));
  const ties = candidates.filter((one) => useful(one) >= top * (1 - TIE));
  return ties.sort((a, b) => a.sessions - b.sessions || a.ms - b.ms)[0];
}

function explain(
  chosen: Candidate,
  profile: Profile,
  settings: ModelSettings,
  { device, coresRate }: { readonly device: DeviceName; readonly coresRate: number },
): string {
  const others = profile.splits
    .filter((split) => !isSame(split, chosen))
    .map(({ sessions, points }) => {
      const rates = points.map((point) => sessions * imagesPerSecond(point));
      return `${sessionsOf(sessions)} ${perSecond(Math.max(...rates))}`;
    });
  const hand = byHand(settings);
  return [
    `measured: ${device} with ${sessionsOf(chosen.sessions)} reaches ${perSecond(chosen.rate)} at batch ${String(chosen.batch)}`,
    ...(others.length > 0 ? [others.join(', ')] : []),
    ...(Number.isFinite(coresRate) ? [`the cores can feed it ${perSecond(coresRate)}`] : []),
    ...(settings.slo_p99_ms > 0 ? [`target p99 ${ms(settings.slo_p99_ms)}`] : []),
    ...(hand.length > 0 ? [`${hand.join(', ')} set by hand`] : []),
  ].join('; ');
}

function ignoredWarning({ sessions }: ModelSettings, device: DeviceName): string[] {
  if (device === 'cuda' || sessions === 'auto' || sessions === 1) return [];
  return [`sessions ${String(sessions)} is not possible on ${device}, where one process has one`];
}

function costWarning(
  settings: ModelSettings,
  chosen: Candidate,
  coresRate: number,
  profile: Profile,
): string[] {
  const free = profile.splits.flatMap(({ sessions, threads, points }) =>
    points.map((point) => candidate({ sessions, threads }, point.batch, point.ms)),
  );
  const top = best(inTime(free, settings.slo_p99_ms), coresRate) ?? chosen;
  if (Math.min(chosen.rate, coresRate) >= Math.min(top.rate, coresRate) * (1 - COSTLY)) return [];
  const keys = byHand(settings).join(', ');
  return [
    `${keys} set by hand: about ${perSecond(chosen.rate)}, but ${sessionsOf(top.sessions)} at batch ${String(top.batch)} would reach ${perSecond(top.rate)}`,
  ];
}

function sessionsOf(count: number): string {
  return `${String(count)} ${count === 1 ? 'session' : 'sessions'}`;
}
