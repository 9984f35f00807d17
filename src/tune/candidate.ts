import type { Split } from '../planning/profile.js';

/** What a candidate sets; all else is left to the server. */
export interface CandidateSettings {
  readonly sessions?: number;
  readonly threads?: number;
  readonly max_batch?: number;
  readonly batching?: 'fixed';
  readonly window_ms?: number;
  readonly slo_p99_ms?: number;
}

/** One way to configure the server. */
export interface Candidate {
  /** Unique within a search. */
  readonly name: string;
  readonly settings: CandidateSettings;
}

/** The plan that a server says it has. */
export interface PlanFacts {
  readonly sessions: number;
  readonly threads: number;
  readonly max_batch: number;
  readonly wide_threads: number;
  readonly max_concurrent: number;
  readonly batching: string;
  readonly window_ms: number;
}

/** What the server does with no configuration at all. */
export const AUTO: Candidate = { name: 'auto', settings: {} };

/** The server is told the target and does the rest by itself. */
export function autoWithTarget(targetP99Ms: number): Candidate {
  return {
    name: `auto, slo_p99_ms ${String(targetP99Ms)}`,
    settings: { slo_p99_ms: targetP99Ms },
  };
}

/** @param windowMs `undefined` for adaptive batching, which needs none */
export function setByHand(
  { sessions, threads }: Split,
  maxBatch: number,
  windowMs: number | undefined,
): Candidate {
  const window = windowMs === undefined ? '' : `, window ${String(windowMs)} ms`;
  return {
    name: `${String(sessions)} × ${String(threads)}, batch ${String(maxBatch)}${window}`,
    settings: {
      sessions,
      threads,
      max_batch: maxBatch,
      ...(windowMs !== undefined && { batching: 'fixed', window_ms: windowMs }),
    },
  };
}

/** The settings as flags of `shoal serve`. */
export function flagsOf({ settings }: Candidate): string[] {
  return Object.entries(settings).flatMap(([key, value]) => [
    `--${key.replaceAll('_', '-')}`,
    String(value),
  ]);
}
