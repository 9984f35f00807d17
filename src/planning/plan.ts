import type { ModelSettings } from '../config/schema.js';
import type { Plan } from '../engine/messages.js';
import { type Curve, latencyMs } from './curve.js';
import { isSame } from './exploration.js';
import type { Machine } from './machine.js';
import { byHand, inTime, ms, perSecond, targetWarning } from './plan-words.js';
import {
  curveOf,
  findSplit,
  type Profile,
  sessionBytes,
  type Split,
  throughput,
} from './profile.js';

export interface ServingPlan extends Plan {
  readonly maxConcurrent: number;
  /** Cores beyond the sessions help by decoding. */
  readonly decodeLanes: number;
  /** Latency by batch size of the chosen split, and of the wide session; empty when not measured. */
  readonly curve: Curve;
  readonly wideCurve: Curve;
  /** What all sessions together are expected to reach, with ordinary photos. */
  readonly imagesPerSecond?: number;
  /** One sentence for the banner and `/models`. */
  readonly why: string;
  /** What was set by hand and is clearly worse than what was measured. */
  readonly warnings: readonly string[];
}

/** Without a profile: each session holds the weights again, so there are not too many. */
const MAX_UNMEASURED_SESSIONS = 8;
/** Without a profile: two at a time halve the messages and wake-ups, and cost little memory. */
const UNMEASURED_BATCH = 2;
/** Measurements that differ by less are taken for equal, and the smaller latency wins. */
const TIE = 0.05;
/** With two images at a time there are half as many messages and wake-ups around the batches. */
const FEWER_MESSAGES = 2;
/** A wide session must answer this much sooner to be worth another copy of the weights. */
const WIDE_GAIN = 0.8;
const WIDE_MEMORY_SHARE = 0.25;
/** Hand-set values that lose more than this are pointed out. */
const COSTLY = 0.1;

/** One measured way to serve. */
interface Candidate extends Split {
  readonly batch: number;
  readonly ms: number;
  readonly rate: number;
}

/** The plan for the CPU, from measurements and what was set by hand. Pure. */
export function planFor(settings: ModelSettings, machine: Machine, profile?: Profile): ServingPlan {
  const all = profile === undefined ? [] : candidatesOf(profile, settings.slo_p99_ms);
  const allowed = all.filter(
    ({ sessions, threads, batch }) =>
      fits(settings.sessions, sessions) &&
      fits(settings.threads, threads) &&
      (settings.max_batch === 'auto' || batch <= settings.max_batch),
  );
  const chosen = best(allowed);
  if (profile === undefined || chosen === undefined) return unmeasured(settings, machine);

  const maxBatch = settings.max_batch === 'auto' ? chosen.batch : settings.max_batch;
  const curve = curveOf(findSplit(profile, chosen));
  const wide = wideFor(settings, machine, profile, chosen);
  const batch = { batch: maxBatch, ms: latencyMs(curve, maxBatch) };
  const rate = throughput(profile, chosen, batch);
  return complete(settings, machine, {
    sessions: chosen.sessions,
    threads: chosen.threads,
    maxBatch,
    wideThreads: wide === undefined ? 0 : machine.cores,
    curve,
    wideCurve: wide ?? [],
    imagesPerSecond: rate,
    why: explain(chosen, wide, profile, settings),
    warnings: [
      ...warningsFor(settings, rate, best(all) ?? chosen),
      ...targetWarning(settings, chosen.ms),
    ],
  });
}

function fits(setting: number | 'auto', value: number): boolean {
  return setting === 'auto' || setting === value;
}

function candidatesOf(profile: Profile, targetMs: number): Candidate[] {
  const all = profile.splits.flatMap(({ sessions, threads, points }) =>
    points.map((point) => {
      const split = { sessions, threads };
      return { ...split, ...point, rate: throughput(profile, split, point) };
    }),
  );
  return inTime(all, targetMs);
}

/**
 * The highest throughput; among those that reach it, more or less, the shortest batch, though
 * rather of two images than of one.
 */
function best(candidates: readonly Candidate[]): Candidate | undefined {
  const top = Math.max(...candidates.map(({ rate }) => rate));
  const ties = candidates.filter(({ rate }) => rate >= top * (1 - TIE)).sort((a, b) => a.ms - b.ms);
  const [shortest] = ties;
  if (shortest === undefined || shortest.batch >= FEWER_MESSAGES) return shortest;
  return ties.find((one) => isSame(one, shortest) && one.batch === FEWER_MESSAGES) ?? shortest;
}

/** The curve of a session with all cores, where it pays to hold one beside the others. */
function wideFor(
  settings: ModelSettings,
  { cores, memoryBytes }: Machine,
  profile: Profile,
  chosen: Candidate,
): Curve | undefined {
  if (settings.batching !== 'adaptive' || settings.wide_session === 'off') return undefined;
  if (chosen.sessions < 2 || chosen.threads >= cores) return undefined;
  const wide = curveOf(findSplit(profile, { sessions: 1, threads: cores }));
  const narrow = curveOf(findSplit(profile, chosen));
  if (!(latencyMs(wide, 1) <= latencyMs(narrow, 1) * WIDE_GAIN)) return undefined;
  return (sessionBytes(profile) ?? 0) > memoryBytes * WIDE_MEMORY_SHARE ? undefined : wide;
}

function warningsFor(settings: ModelSettings, rate: number, top: Candidate): string[] {
  if (rate >= top.rate * (1 - COSTLY)) return [];
  const keys = byHand(settings).join(', ');
  return [
    `${keys} set by hand: about ${perSecond(rate)}, but ${shape(top)} would reach ${perSecond(top.rate)}`,
  ];
}

function explain(
  chosen: Candidate,
  wide: Curve | undefined,
  profile: Profile,
  settings: ModelSettings,
): string {
  const others = profile.splits
    .filter((split) => !isSame(split, chosen))
    .map((split) => {
      const rates = split.points.map((point) => throughput(profile, split, point));
      return `${shape(split)} ${perSecond(Math.max(...rates))}`;
    });
  const hand = byHand(settings);
  const narrowMs = latencyMs(curveOf(findSplit(profile, chosen)), 1);
  return [
    `measured: ${shape(chosen)} reaches ${perSecond(chosen.rate)} at batch ${String(chosen.batch)}`,
    ...(others.length > 0 ? [others.join(', ')] : []),
    ...(wide === undefined
      ? []
      : [`a lone image takes ${ms(latencyMs(wide, 1))} on all cores instead of ${ms(narrowMs)}`]),
    ...(settings.slo_p99_ms > 0 ? [`target p99 ${ms(settings.slo_p99_ms)}`] : []),
    ...(hand.length > 0 ? [`${hand.join(', ')} set by hand`] : []),
  ].join('; ');
}

function unmeasured(settings: ModelSettings, machine: Machine): ServingPlan {
  const { cores } = machine;
  const wantedThreads = settings.threads === 'auto' ? undefined : settings.threads;
  const fitting = Math.floor(cores / (wantedThreads ?? 1));
  const sessions =
    settings.sessions === 'auto'
      ? Math.min(Math.max(1, fitting), MAX_UNMEASURED_SESSIONS)
      : settings.sessions;
  const hand = byHand(settings);
  const from = hand.length === 0 ? 'not measured,' : `${hand.join(', ')} set by hand,`;
  return complete(settings, machine, {
    sessions,
    threads: wantedThreads ?? Math.max(1, Math.floor(cores / sessions)),
    maxBatch: settings.max_batch === 'auto' ? UNMEASURED_BATCH : settings.max_batch,
    wideThreads: 0,
    curve: [],
    wideCurve: [],
    why: `${from} the usual for ${String(cores)} ${cores === 1 ? 'core' : 'cores'}`,
    warnings: [],
  });
}

/** What follows from the rest: one batch per session in work, and the next one's first image. */
function complete(
  settings: ModelSettings,
  { cores }: Machine,
  plan: Omit<ServingPlan, 'maxConcurrent' | 'decodeLanes'>,
): ServingPlan {
  const { sessions, maxBatch } = plan;
  const planned = sessions * (maxBatch + 1);
  const maxConcurrent = settings.max_concurrent === 'auto' ? planned : settings.max_concurrent;
  return { ...plan, maxConcurrent, decodeLanes: Math.max(0, cores - sessions) };
}

function shape({ sessions, threads }: Split): string {
  return `${String(sessions)} × ${String(threads)} ${threads === 1 ? 'thread' : 'threads'}`;
}
