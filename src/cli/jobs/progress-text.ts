import { bar, figure } from '../../load/chart.js';
import { span } from './span.js';

/** In images. */
export interface Tally {
  readonly total: number;
  /** In jobs that the server has taken. */
  readonly submitted: number;
  /** With a result. */
  readonly done: number;
  /** Submitted, but ended without a result. */
  readonly failed: number;
  /** Never submitted: unreadable, or not taken. */
  readonly refused: number;
}

/** What had been reached at a time. */
export interface Mark {
  readonly at: number;
  readonly reached: number;
}

const BAR_WIDTH = 24;

/** How many need nothing more from this command. */
export function reachedOf(tally: Tally, isWaiting: boolean): number {
  const { submitted, done, failed, refused } = tally;
  return refused + (isWaiting ? done + failed : submitted);
}

export function progressText(tally: Tally, perSecond: number, isWaiting: boolean): string {
  const { total, submitted, done, failed, refused } = tally;
  const left = total - reachedOf(tally, isWaiting);
  return [
    `${(shareOf(tally, isWaiting) * 100).toFixed(0)} %`,
    `${String(submitted)} of ${String(total)} submitted`,
    ...(isWaiting ? [`${String(done)} done`] : []),
    `${String(failed + refused)} failed`,
    ...(perSecond > 0 && left > 0
      ? [`${figure(perSecond)}/s`, `${leftText(left / perSecond)} left`]
      : []),
  ].join(', ');
}

export function progressBar(tally: Tally, perSecond: number, isWaiting: boolean): string {
  const filled = bar(shareOf(tally, isWaiting), 1, BAR_WIDTH).padEnd(BAR_WIDTH, '░');
  return `${filled} ${progressText(tally, perSecond, isWaiting)}`;
}

/** Files can come while they are being sent, so there may be more than were counted. */
function shareOf(tally: Tally, isWaiting: boolean): number {
  return tally.total > 0 ? Math.min(1, reachedOf(tally, isWaiting) / tally.total) : 1;
}

/** Whole seconds: nobody can know it better. */
function leftText(seconds: number): string {
  return span(Math.max(1, Math.round(seconds)) * 1000).replace('.0 s', ' s');
}

/** Per second, from the oldest mark to the newest. */
export function rateOf(marks: readonly Mark[]): number {
  const [first, last] = [marks[0], marks.at(-1)];
  if (first === undefined || last === undefined || last.at <= first.at) return 0;
  return ((last.reached - first.reached) / (last.at - first.at)) * 1000;
}
