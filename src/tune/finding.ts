import type { LoadResult } from '../load/load-result.js';
import { median } from '../planning/profile.js';
import type { Candidate, PlanFacts } from './candidate.js';

/** How quickly one load was answered. */
export interface Latency {
  /** `null` when nothing was answered. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** The share of the requests that were answered 200. */
  readonly okShare: number;
}

/** One visit to a server: at its limit and, where there is a target, at a rate. */
export interface Visit {
  /** 0 in the search. */
  readonly round: number;
  readonly imagesPerSecond: number;
  readonly saturated: Latency;
  /** Independent clients at a given rate. */
  readonly paced: (Latency & { readonly rate: number }) | null;
  /** Of all processes of the server, after the load; `null` where it cannot be known. */
  readonly memoryBytes: number | null;
}

/** What is known about a candidate: medians of the final rounds, or else of the search. */
export interface Finding extends Latency {
  readonly candidate: Candidate;
  readonly plan: PlanFacts;
  readonly isFinalist: boolean;
  readonly imagesPerSecond: number;
  /** Of the rate, where there is a target; otherwise latencies are those at the limit. */
  readonly rate: number | null;
  readonly memoryBytes: number | null;
  readonly visits: readonly Visit[];
}

export function latencyOf({ latencyMs, ok, offered }: LoadResult): Latency {
  return {
    p50Ms: latencyMs?.p50 ?? null,
    p99Ms: latencyMs?.p99 ?? null,
    okShare: offered === 0 ? 0 : ok / offered,
  };
}

/** Machines are noisy, so medians decide. */
export function findingOf(
  candidate: Candidate,
  plan: PlanFacts,
  visits: readonly Visit[],
): Finding {
  const finals = visits.filter(({ round }) => round > 0);
  const counted = finals.length > 0 ? finals : visits;
  const latencies = counted.map((visit) => visit.paced ?? visit.saturated);
  const rates = counted.flatMap(({ paced }) => paced?.rate ?? []);
  return {
    candidate,
    plan,
    isFinalist: finals.length > 0,
    imagesPerSecond: median(counted.map(({ imagesPerSecond }) => imagesPerSecond)),
    p50Ms: medianOf(latencies.map(({ p50Ms }) => p50Ms)),
    p99Ms: medianOf(latencies.map(({ p99Ms }) => p99Ms)),
    okShare: median(latencies.map(({ okShare }) => okShare)),
    rate: medianOf(rates),
    memoryBytes: medianOf(counted.map(({ memoryBytes }) => memoryBytes)),
    visits,
  };
}

function medianOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : median(known);
}
