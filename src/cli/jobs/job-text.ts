import type { JobView, ResultView } from '../../jobs/job-view.js';
import { count } from '../words.js';
import { problemText } from './failures.js';
import { printable } from './output.js';
import { span } from './span.js';

const LABEL_WIDTH = 12;

/** A job for a person, with everything that is known about it. */
export function jobText(job: JobView, now: number): string {
  const { progress, timings, position, webhook, problem } = job;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['model', job.model],
    ['settings', `threshold ${String(job.confidence_threshold)}, priority ${job.priority}`],
    ['images', `${String(progress.done)} of ${String(progress.total)} done`],
    ['position', position === undefined ? undefined : `${count(position, 'job')} before it`],
    ['tries', job.tries === 0 ? undefined : `failed ${count(job.tries, 'time')}`],
    ['created', since(job.created_at, now)],
    ['started', since(job.started_at, now)],
    ['finished', since(job.finished_at, now)],
    ['expires', job.finished_at === undefined ? job.expires_at : undefined],
    ['waited', span(timings.queued_ms)],
    ['ran', timings.running_ms === undefined ? undefined : span(timings.running_ms)],
    ['webhook', webhook === undefined ? undefined : webhookText(webhook)],
    ['problem', problem === undefined ? undefined : problemText(problem)],
  ];
  const known = rows.flatMap(([label, text]) =>
    text === undefined ? [] : [`  ${label.padEnd(LABEL_WIDTH)}${printable(text)}`],
  );
  const results = (job.results ?? []).flatMap(resultLines);
  const lines = [`${job.id}  ${job.state}`, ...known, ...results];
  return `${lines.join('\n')}\n`;
}

/** Of a time on the server's clock, which may be ahead of this one. */
function since(time: string | undefined, now: number): string | undefined {
  return time === undefined ? undefined : `${time}, ${span(now - Date.parse(time))} ago`;
}

function webhookText({ state, attempts, reason }: NonNullable<JobView['webhook']>): string {
  const why = reason === undefined ? '' : `: ${reason}`;
  return `${state} after ${count(attempts, 'attempt')}${why}`;
}

function resultLines(result: ResultView, at: number): string[] {
  const label = `  ${`image ${String(at + 1)}`.padEnd(LABEL_WIDTH)}`;
  if ('problem' in result) return [label + problemText(result.problem)];
  const { detections, inference_ms } = result;
  const width = Math.max(0, ...detections.map((one) => printable(one.label).length));
  return [
    `${label}${count(detections.length, 'detection')} in ${span(inference_ms)}`,
    ...detections.map(
      (one) =>
        `    ${printable(one.label).padEnd(width)}  ${one.confidence.toFixed(2)}  ` +
        `[${one.bbox.map((edge) => String(Math.round(edge))).join(', ')}]`,
    ),
  ];
}
