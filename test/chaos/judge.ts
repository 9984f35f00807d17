import { MAX_LOSSES } from '../../src/jobs/job-store.js';
import type { JobView, ResultView } from '../../src/jobs/job-view.js';
import { groupBy } from './group-by.js';
import type { Entry } from './ledger.js';
import { colourOf, numberOf, type Picture } from './plan.js';

/** How the run ended, as the server tells it when nothing is left to do. */
export interface Ending {
  readonly entries: readonly Entry[];
  /** Every job there is, with its results. */
  readonly views: readonly JobView[];
  /** When processes were killed, in ms since 1970. */
  readonly kills: readonly number[];
}

export interface Judgement {
  readonly violations: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

/** Whether everything that was promised was kept. Pure, so that tests can show it what is wrong. */
export function judge({ entries, views, kills }: Ending): Judgement {
  const violations: string[] = [];
  const counts: Record<string, number> = {
    completed: 0,
    failed: 0,
    cancelled: 0,
    'given up after too many crashes': 0,
    'unanswered, stored': 0,
    'unanswered, not stored': 0,
  };
  const count = (name: string): void => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  const byNumber = groupBy(views, (view) => numberOf(view.confidence_threshold));
  const ids = new Set(views.map(({ id }) => id));
  const submitted = new Set(entries.map(({ submission }) => submission.n));

  for (const [n, found] of byNumber) {
    if (!submitted.has(n)) {
      violations.push(`${found.map(({ id }) => id).join(', ')}: nobody submitted this`);
    }
  }
  for (const entry of entries) {
    const name = `submission ${String(entry.submission.n)}`;
    const found = byNumber.get(entry.submission.n) ?? [];
    for (const id of entry.ids) if (!ids.has(id)) violations.push(`${name}: ${id} is lost`);
    if (entry.ids.size > 1) violations.push(`${name}: two ids for one submission`);
    if (found.length > 1) violations.push(`${name}: ${String(found.length)} jobs instead of one`);
    if (entry.ids.size === 0) {
      count(found.length === 0 ? 'unanswered, not stored' : 'unanswered, stored');
      if (!entry.isUncertain && found.length > 0) violations.push(`${name}: refused, but stored`);
    }
    for (const view of found) {
      const isGivenUp = view.problem?.code === 'worker_lost';
      count(isGivenUp ? 'given up after too many crashes' : view.state);
      violations.push(
        ...wrongEnd(entry, view, kills).map((what) => `${name} (${view.id}): ${what}`),
      );
    }
  }
  return { violations, counts };
}

function wrongEnd(entry: Entry, view: JobView, kills: readonly number[]): string[] {
  const { pictures } = entry.submission;
  switch (view.state) {
    case 'completed':
      if (pictures.every(({ isBroken }) => isBroken)) return ['completed without a picture'];
      return wrongResults(pictures, view.results ?? []);
    case 'failed':
      if (view.problem?.code === 'worker_lost') return crashesOf(view, kills);
      if (pictures.every(({ isBroken }) => isBroken)) return [];
      return [`failed: ${view.problem?.code ?? 'nobody knows why'}`];
    case 'cancelled':
      return entry.isCancelAsked ? [] : ['cancelled by nobody'];
    case 'queued':
    case 'running':
    case 'expired':
      return [`is ${view.state} at the end`];
  }
}

/** A job may be given up only when that many crashes have happened since it came. */
function crashesOf(view: JobView, kills: readonly number[]): string[] {
  const [from, to] = [Date.parse(view.created_at), Date.parse(view.finished_at ?? '')];
  const seen = kills.filter((at) => at >= from && at <= to).length;
  return seen >= MAX_LOSSES ? [] : [`given up after ${String(seen)} crashes`];
}

function wrongResults(pictures: readonly Picture[], results: readonly ResultView[]): string[] {
  if (pictures.length !== results.length) return [`${String(results.length)} results`];
  return pictures.flatMap((picture, at) => {
    const result = results[at];
    const isRight =
      result !== undefined &&
      ('problem' in result
        ? picture.isBroken
        : !picture.isBroken &&
          String(result.detections.map(({ bbox }) => bbox)) ===
            String([...colourOf(picture), 255]));
    return isRight ? [] : [`result ${String(at)} is not of its picture: ${JSON.stringify(result)}`];
  });
}
