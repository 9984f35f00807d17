import { type Problem, toProblem } from '../errors.js';
import { type ImageResult, isFinal, type JobProblem, type JobRecord } from './job.js';

/** A job as clients see it, in answers, events and webhooks. */
export interface JobView {
  readonly id: string;
  readonly state: JobRecord['state'];
  readonly model: string;
  readonly priority: JobRecord['priority'];
  readonly confidence_threshold: number;
  /** Jobs of the same model that run before it. */
  readonly position?: number;
  readonly progress: { readonly done: number; readonly total: number };
  readonly tries: number;
  readonly created_at: string;
  readonly started_at?: string;
  readonly finished_at?: string;
  readonly expires_at: string;
  readonly timings: { readonly queued_ms: number; readonly running_ms?: number };
  readonly problem?: Problem;
  readonly results?: readonly ResultView[];
  readonly webhook?: NonNullable<JobRecord['webhook']>;
}

export type ResultView =
  Extract<ImageResult, { detections: unknown }> | { readonly problem: Problem };

/** @param now for the timings of a job that is not finished */
export function viewJob(job: JobRecord, now: number): JobView {
  const { startedAt, finishedAt, position, problem, results, webhook } = job;
  return {
    id: job.id,
    state: job.state,
    model: job.model,
    priority: job.priority,
    confidence_threshold: job.threshold,
    ...(position !== undefined && { position }),
    progress: { done: isFinal(job.state) ? doneAtEnd(job) : job.done, total: job.imageCount },
    tries: job.tries,
    created_at: iso(job.createdAt),
    ...(startedAt !== undefined && { started_at: iso(startedAt) }),
    ...(finishedAt !== undefined && { finished_at: iso(finishedAt) }),
    expires_at: iso(job.expiresAt),
    timings: {
      queued_ms: Math.max(0, (startedAt ?? finishedAt ?? now) - job.createdAt),
      ...(startedAt !== undefined && { running_ms: Math.max(0, (finishedAt ?? now) - startedAt) }),
    },
    ...(problem !== undefined && { problem: viewProblem(problem) }),
    ...(results !== undefined && { results: results.map(viewResult) }),
    ...(webhook !== undefined && { webhook }),
  };
}

function doneAtEnd(job: JobRecord): number {
  return job.state === 'completed' || job.state === 'failed' ? job.imageCount : job.done;
}

function viewResult(result: ImageResult): ResultView {
  return 'problem' in result ? { problem: viewProblem(result.problem) } : result;
}

function viewProblem({ code, detail }: JobProblem): Problem {
  return toProblem(code, detail);
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
