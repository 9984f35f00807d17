import { type ErrorCode, ShoalError } from '../errors.js';
import type { ImageResult, JobProblem } from './job.js';
import type { Verdict } from './job-store.js';

/**
 * How one image ended.
 * - `bad`: the image is at fault, and would be again.
 * - `fault`: the engine failed on it; perhaps because of it.
 * - `absent`: there was no engine to try it on.
 */
export type ImageOutcome =
  | { readonly kind: 'done'; readonly result: ImageResult }
  | { readonly kind: 'bad' | 'fault' | 'absent'; readonly problem: JobProblem };

/** A job that the engine has failed on this often is not tried again. */
const MAX_TRIES = 2;
const FIRST_RETRY_MS = 1000;
const ABSENT_RETRY_MS = 5000;

/** Says nothing about the image. A deadline is the job's own, and its store ends it by that. */
const ABSENCES: readonly ErrorCode[] = [
  'engine_unavailable',
  'store_unavailable',
  'deadline_exceeded',
];

/** What an error says about an image. Whoever is refused waits and never gets here. */
export function outcomeOf(error: unknown): ImageOutcome {
  if (!(error instanceof ShoalError)) {
    const detail = 'Something went wrong; the log says more.';
    return { kind: 'fault', problem: { code: 'internal_error', detail } };
  }
  const { code, message: detail, status } = error;
  if (ABSENCES.includes(code)) {
    return { kind: 'absent', problem: { code, detail } };
  }
  return { kind: status < 500 ? 'bad' : 'fault', problem: { code, detail } };
}

/**
 * What becomes of a job whose images have all been tried. Engine faults are tried again after a
 * while; bad images are not. In the end a job has failed when all of its images have.
 * @param random from 0 to 1
 */
export function conclude(
  outcomes: readonly ImageOutcome[],
  tries: number,
  random: number,
): Verdict {
  const jitter = 0.5 + random;
  const absent = outcomes.find(({ kind }) => kind === 'absent');
  if (absent !== undefined && absent.kind !== 'done') {
    const { problem } = absent;
    return { kind: 'retry', problem, delayMs: ABSENT_RETRY_MS * jitter, isBlamed: false };
  }
  const fault = outcomes.find(({ kind }) => kind === 'fault');
  if (fault !== undefined && fault.kind !== 'done' && tries + 1 < MAX_TRIES) {
    const delayMs = FIRST_RETRY_MS * 2 ** tries * jitter;
    return { kind: 'retry', problem: fault.problem, delayMs, isBlamed: true };
  }
  const results = outcomes.map((one) =>
    one.kind === 'done' ? one.result : { problem: one.problem },
  );
  const [first] = outcomes;
  if (
    first === undefined ||
    first.kind === 'done' ||
    outcomes.some(({ kind }) => kind === 'done')
  ) {
    return { kind: 'completed', results };
  }
  return { kind: 'failed', problem: first.problem, results };
}
