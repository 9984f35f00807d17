import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { ModelSettings } from '../config/schema.js';
import type { Plan } from '../engine/messages.js';

/** Each session holds the weights again; beyond this, threads are the better use of cores. */
const MAX_AUTO_SESSIONS = 8;
/**
 * On a CPU a batch computes no faster than its images one by one, but two at a time halve the
 * messages and wake-ups around them. Larger ones only take more memory.
 */
const AUTO_MAX_BATCH = 2;

export interface ServingPlan extends Plan {
  readonly maxConcurrent: number;
  /** Cores beyond the sessions help by decoding. */
  readonly decodeLanes: number;
  /** One sentence for the banner and `/models`. */
  readonly why: string;
}

/** Sessions × threads × maximum batch, from the cores and what was set by hand. Pure. */
export function planFor(settings: ModelSettings, cores: number): ServingPlan {
  const wantedThreads = settings.threads === 'auto' ? undefined : settings.threads;
  const fitting = Math.floor(cores / (wantedThreads ?? 1));
  const sessions =
    settings.sessions === 'auto'
      ? Math.min(Math.max(1, fitting), MAX_AUTO_SESSIONS)
      : settings.sessions;
  const threads = wantedThreads ?? Math.max(1, Math.floor(cores / sessions));
  const maxBatch = settings.max_batch === 'auto' ? AUTO_MAX_BATCH : settings.max_batch;
  const maxConcurrent =
    settings.max_concurrent === 'auto' ? sessions * (maxBatch + 1) : settings.max_concurrent;

  const byHand = (['sessions', 'threads', 'max_batch', 'max_concurrent'] as const).filter(
    (key) => settings[key] !== 'auto',
  );
  const from =
    byHand.length === 0 ? 'planned' : `${byHand.join(', ')} set by hand, the rest planned`;
  const why = `${from} for ${String(cores)} ${cores === 1 ? 'core' : 'cores'}`;
  const decodeLanes = Math.max(0, cores - sessions);
  return { sessions, threads, maxBatch, maxConcurrent, decodeLanes, why };
}

/** The cores this process may really use: a container's CPU quota counts, too. */
export function usableCores(): number {
  return Math.max(1, Math.min(availableParallelism(), Math.floor(cgroupQuota() ?? Infinity)));
}

function cgroupQuota(): number | undefined {
  try {
    const [quota, period] = readFileSync('/sys/fs/cgroup/cpu.max', 'utf8').split(' ').map(Number);
    const cores = (quota ?? Number.NaN) / (period ?? Number.NaN);
    return Number.isFinite(cores) ? Math.max(1, cores) : undefined;
  } catch {
    return undefined;
  }
}
