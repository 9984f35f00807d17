import type { JobView } from '../../jobs/job-view.js';
import type { SeenProblem } from './failures.js';

/** A job that was accepted, and the files that its images came from. */
export interface SentJob {
  readonly id: string;
  readonly files: readonly string[];
}

export interface ResultLine {
  readonly file: string;
  /** `null` when there is none: it was refused. */
  readonly job: string | null;
  readonly state: JobView['state'] | 'refused' | 'unknown';
  readonly detections?: unknown;
  readonly inference_ms?: number;
  readonly problem?: SeenProblem;
}

/** One for every image. */
export function resultLines({ id, files }: SentJob, job: JobView): ResultLine[] {
  return files.map((file, at) => {
    const head = { file, job: id, state: job.state };
    const result = job.results?.[at];
    if (result !== undefined) {
      return 'problem' in result
        ? { ...head, problem: { ...result.problem } }
        : { ...head, detections: result.detections, inference_ms: result.inference_ms };
    }
    return job.problem === undefined ? head : { ...head, problem: { ...job.problem } };
  });
}

export function refusedLine(file: string, problem: SeenProblem): ResultLine {
  return { file, job: null, state: 'refused', problem };
}

/** The server does not know the job any more. */
export function unknownLines({ id, files }: SentJob, problem: SeenProblem): ResultLine[] {
  return files.map((file) => ({ file, job: id, state: 'unknown', problem }));
}

export function isSuccess({ state, problem }: ResultLine): boolean {
  return state === 'completed' && problem === undefined;
}

export function asText(lines: readonly ResultLine[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}
