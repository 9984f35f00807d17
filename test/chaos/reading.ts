import { isFinal } from '../../src/jobs/job.js';
import type { JobView } from '../../src/jobs/job-view.js';
import { attempt, type JobList, pause } from './http.js';

const READERS = 8;

/** Waits until nothing is left to do. @throws when that takes longer than `limitMs` */
export async function drained(url: string, limitMs: number): Promise<readonly JobView[]> {
  const until = performance.now() + limitMs;
  for (;;) {
    const jobs = await list(url);
    const open = jobs.filter(
      ({ state, webhook }) => !isFinal(state) || webhook?.state === 'pending',
    );
    if (open.length === 0) return jobs;
    if (performance.now() > until) {
      const shown = open.slice(0, 5).map((job) => JSON.stringify(job));
      throw new Error(`${String(open.length)} jobs do not end, such as\n${shown.join('\n')}`);
    }
    await pause(500);
  }
}

/** All of them, with their results. */
export async function readAll(url: string, jobs: readonly JobView[]): Promise<JobView[]> {
  const views: JobView[] = [];
  const left = [...jobs];
  const reader = async (): Promise<void> => {
    for (let job = left.pop(); job !== undefined; job = left.pop()) {
      views.push(await get<JobView>(`${url}/jobs/${job.id}`));
    }
  };
  await Promise.all(Array.from({ length: READERS }, reader));
  return views;
}

async function list(url: string): Promise<JobView[]> {
  const jobs: JobView[] = [];
  let cursor: string | undefined;
  do {
    const more: string = cursor === undefined ? '' : `&cursor=${cursor}`;
    const page = await get<JobList>(`${url}/jobs?limit=100${more}`);
    jobs.push(...page.jobs);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return jobs;
}

/** Nobody is killed any more, so whoever is asked answers, if not at once. */
async function get<T>(url: string): Promise<T> {
  for (let tries = 0; ; tries++) {
    const outcome = await attempt(url);
    if (outcome.kind === 'answered' && outcome.status === 200) return outcome.body as T;
    if (tries === 100) throw new Error(`${url} gives ${JSON.stringify(outcome)}`);
    await pause(100);
  }
}
