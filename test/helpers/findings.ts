import { AUTO, type Candidate, type PlanFacts, setByHand } from '../../src/tune/candidate.js';
import { type Finding, findingOf, type Visit } from '../../src/tune/finding.js';

export function planOf(
  sessions: number,
  threads: number,
  maxBatch: number,
  rest: Partial<PlanFacts> = {},
): PlanFacts {
  return {
    sessions,
    threads,
    max_batch: maxBatch,
    wide_threads: 0,
    max_concurrent: sessions * (maxBatch + 1),
    batching: 'adaptive',
    window_ms: 10,
    ...rest,
  };
}

export function visitOf(imagesPerSecond: number, p99Ms: number | null, round = 1): Visit {
  const latency = { p50Ms: p99Ms === null ? null : p99Ms / 2, p99Ms, okShare: 1 };
  return { round, imagesPerSecond, saturated: latency, paced: null, memoryBytes: 2 ** 28 };
}

/** A visit with a load at a rate. */
export function pacedVisit(
  imagesPerSecond: number,
  p99Ms: number | null,
  okShare = 1,
  round = 1,
): Visit {
  const paced = { p50Ms: p99Ms, p99Ms, okShare, rate: imagesPerSecond * 0.7 };
  return { ...visitOf(imagesPerSecond, 1000, round), paced };
}

/** What a candidate set by hand was found to do. */
export function found(
  shape: readonly [sessions: number, threads: number, maxBatch: number],
  ...visits: readonly Visit[]
): Finding {
  const [sessions, threads, maxBatch] = shape;
  const candidate = setByHand({ sessions, threads }, maxBatch, undefined);
  return findingOf(candidate, planOf(...shape), visits);
}

/** What the server did by itself. */
export function foundAuto(
  shape: readonly [sessions: number, threads: number, maxBatch: number],
  ...visits: readonly Visit[]
): Finding {
  return findingOf(AUTO, planOf(...shape), visits);
}

export function foundAs(candidate: Candidate, plan: PlanFacts, ...visits: Visit[]): Finding {
  return findingOf(candidate, plan, visits);
}
