import { randomUUID } from 'node:crypto';
import type { Progress } from './load-result.js';
import type { PreparedRequest } from './prepared-request.js';
import type { Recorder } from './recorder.js';
import type { Target } from './target.js';

/** What every kind of load needs. */
export interface LoadOptions {
  readonly target: Target;
  /** Sent in turn. */
  readonly requests: readonly [PreparedRequest, ...PreparedRequest[]];
  readonly seconds: number;
  /** How long clients wait for an answer. */
  readonly timeoutMs?: number;
  /** Ends the run early; what was sent is waited for. */
  readonly signal?: AbortSignal | undefined;
  /** Called a few times a second. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export const DEFAULT_TIMEOUT_MS = 1000;
const PROGRESS_MS = 250;

/** Requests with ids that no other run has used, since a server may remember them. */
export function requestSource({ requests }: LoadOptions): (index: number) => {
  readonly head: Buffer;
  readonly body: Buffer;
} {
  const run = randomUUID().slice(0, 13);
  return (index) => {
    const request = requests[index % requests.length] ?? requests[0];
    return { head: request.head(`load-${run}-${String(index)}`), body: request.body };
  };
}

/** @returns what ends the reports */
export function reportProgress(
  { onProgress }: LoadOptions,
  recorder: Recorder,
  elapsedMs: () => number,
): () => void {
  if (onProgress === undefined) return () => undefined;
  const timer = setInterval(() => {
    onProgress(recorder.progress(elapsedMs()));
  }, PROGRESS_MS);
  return () => {
    clearInterval(timer);
  };
}
