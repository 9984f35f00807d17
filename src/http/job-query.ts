import { ShoalError } from '../errors.js';
import { JOB_STATES, type JobState } from '../jobs/job.js';
import type { JobQuery } from '../jobs/job-store.js';

const MAX_WAIT_S = 60;
const [DEFAULT_LIMIT, MAX_LIMIT] = [20, 100];
const CURSOR = /^[\w.~:-]{1,128}$/;

type Query = Readonly<Record<string, unknown>>;

/** `?wait=`: how many seconds a client is ready to wait. */
export function readWait(query: unknown): number {
  const { wait } = query as Query;
  if (wait === undefined) return 0;
  if (typeof wait === 'string' && /^\d{1,3}(\.\d{1,3})?$/.test(wait)) {
    const seconds = Number(wait);
    if (seconds <= MAX_WAIT_S) return seconds;
  }
  throw invalid(`"wait" must be a number of seconds from 0 to ${String(MAX_WAIT_S)}.`);
}

/** `GET /jobs?state=&limit=&cursor=`. */
export function readListQuery(query: unknown): Omit<JobQuery, 'owner'> {
  const { state, limit = String(DEFAULT_LIMIT), cursor, ...others } = query as Query;
  refuseOthers(others);
  if (state !== undefined && !JOB_STATES.includes(state as JobState)) {
    throw invalid(`"state" must be one of ${JOB_STATES.join(', ')}.`);
  }
  const count = typeof limit === 'string' && /^\d{1,3}$/.test(limit) ? Number(limit) : 0;
  if (count < 1 || count > MAX_LIMIT) {
    throw invalid(`"limit" must be a whole number from 1 to ${String(MAX_LIMIT)}.`);
  }
  if (cursor !== undefined && (typeof cursor !== 'string' || !CURSOR.test(cursor))) {
    throw invalid('"cursor" must be one from the page before.');
  }
  return {
    limit: count,
    ...(state !== undefined && { state: state as JobState }),
    ...(cursor !== undefined && { cursor }),
  };
}

/** `DELETE /jobs?state=a,b`: said in full, since it cannot be undone. */
export function readPurgeQuery<State extends string>(
  query: unknown,
  allowed: readonly State[],
): State[] {
  const { state, ...others } = query as Query;
  refuseOthers(others);
  const states = typeof state === 'string' ? state.split(',') : [];
  if (states.length > 0 && states.every((one) => (allowed as readonly string[]).includes(one))) {
    return [...new Set(states)] as State[];
  }
  throw invalid(`"state" must be one or more of ${allowed.join(', ')}, with commas.`);
}

function refuseOthers(others: Query): void {
  const [other] = Object.keys(others);
  if (other === undefined) return;
  throw invalid(`There is no ${JSON.stringify(other.slice(0, 64))} here.`);
}

function invalid(detail: string): ShoalError {
  return new ShoalError('invalid_request', detail);
}
