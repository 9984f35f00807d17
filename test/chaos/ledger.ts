import { type FinalState, isFinal } from '../../src/jobs/job.js';
import type { JobView } from '../../src/jobs/job-view.js';
import { numberOf, type Submission } from './plan.js';

/** An end that somebody was told about. */
export interface SeenEnd {
  readonly state: FinalState;
  readonly finishedAt: string;
  /** Not in lists. */
  readonly results?: string;
  readonly seenAt: number;
}

/** Everything that a client knows about what it has submitted. */
export interface Entry {
  readonly submission: Submission;
  /** Every id that an answer to it has named. There must be one. */
  readonly ids: Set<string>;
  /** At least one attempt has no answer, so nobody knows what became of it. */
  isUncertain: boolean;
  /** It was asked for, and perhaps heard. */
  isCancelAsked: boolean;
  end?: SeenEnd;
}

/** What clients were told, and every contradiction in it. */
export class Ledger {
  readonly entries = new Map<number, Entry>();
  readonly #violations = new Set<string>();
  /** Answered with 202 or 200. */
  acknowledged = 0;
  resent = 0;
  looks = 0;

  /** Each once, however often it was seen. */
  get violations(): readonly string[] {
    return [...this.#violations];
  }

  open(submission: Submission): Entry {
    const entry = { submission, ids: new Set<string>(), isUncertain: false, isCancelAsked: false };
    this.entries.set(submission.n, entry);
    return entry;
  }

  accepted(entry: Entry, view: JobView, askedAt = performance.now()): void {
    if (entry.ids.size === 0) this.acknowledged++;
    entry.ids.add(view.id);
    if (numberOf(view.confidence_threshold) !== entry.submission.n) {
      this.violate(`submission ${String(entry.submission.n)} was answered with another's job`);
    }
    this.observe(view, askedAt);
  }

  /**
   * Whatever is shown of a job, at any time. An end that was shown stays as it is.
   * @param askedAt of two answers that were on their way together, either may be the older one
   */
  observe(view: JobView, askedAt = performance.now()): void {
    this.looks++;
    const entry = this.entries.get(numberOf(view.confidence_threshold));
    if (entry === undefined) {
      this.violate(`${view.id} is nobody's`);
      return;
    }
    const now = endOf(view);
    const { end: before } = entry;
    if (before === undefined) {
      if (now !== undefined) entry.end = now;
      return;
    }
    if (now === undefined) {
      if (askedAt < before.seenAt) return;
      this.violate(`${view.id} was ${before.state} and is ${view.state}`);
    } else if (!isSame(before, now)) {
      this.violate(`${view.id} was ${text(before)} and is ${text(now)}`);
    } else if (now.results !== undefined) {
      entry.end = { ...now, seenAt: before.seenAt };
    }
  }

  missing(entry: Entry, id: string): void {
    this.violate(`${id} (submission ${String(entry.submission.n)}) was accepted and is gone`);
  }

  violate(what: string): void {
    this.#violations.add(what);
  }
}

function endOf({ state, finished_at: finishedAt = '', results }: JobView): SeenEnd | undefined {
  if (!isFinal(state)) return undefined;
  const seenAt = performance.now();
  const end = { state, finishedAt, seenAt };
  return results === undefined ? end : { ...end, results: JSON.stringify(results) };
}

function isSame(before: SeenEnd, now: SeenEnd): boolean {
  const isComparable = before.results !== undefined && now.results !== undefined;
  return (
    before.state === now.state &&
    before.finishedAt === now.finishedAt &&
    (!isComparable || before.results === now.results)
  );
}

function text({ state, finishedAt, results = '' }: SeenEnd): string {
  return `${state} at ${finishedAt} with ${results.slice(0, 120)}`;
}
