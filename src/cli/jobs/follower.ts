import { isFinal } from '../../jobs/job.js';
import type { JobView } from '../../jobs/job-view.js';
import { Backlog } from './backlog.js';
import type { JobsClient } from './client.js';
import { Refusal } from './failures.js';
import { persist, type Persistence } from './persist.js';
import type { SentJob } from './result-lines.js';

const WAIT_S = 30;
/** A server that does not wait although it was asked to is not asked more often than this. */
const SHORTEST_MS = 500;

/** Waits for the end of a job with long polls. */
export async function untilEnded(
  id: string,
  client: JobsClient,
  how: Persistence,
): Promise<JobView> {
  for (;;) {
    const job = await poll(id, client, how);
    if (isFinal(job.state)) return job;
  }
}

async function poll(id: string, client: JobsClient, how: Persistence): Promise<JobView> {
  const since = how.clock.now();
  const job = await persist(() => client.get(id, WAIT_S), how);
  const early = SHORTEST_MS - (how.clock.now() - since);
  if (!isFinal(job.state) && early > 0) await how.clock.sleep(early, how.signal);
  return job;
}

export interface FollowerOptions {
  readonly client: JobsClient;
  readonly how: Persistence;
  /** `Refusal`: the server does not have it any more. */
  readonly onEnd: (sent: SentJob, end: JobView | Refusal) => Promise<void>;
}

/** Follows many jobs with few requests: the oldest first, since those usually end first. */
export class Follower {
  readonly #options: FollowerOptions;
  readonly #backlog = new Backlog<SentJob>();
  #open = 0;
  #isLast = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
    // Whoever waits for a job to follow would not learn that it is over.
    options.how.signal.addEventListener('abort', () => {
      this.#backlog.close();
    });
  }

  add(sent: SentJob): void {
    this.#open++;
    this.#backlog.push(sent);
  }

  /** No more will be added. */
  end(): void {
    this.#isLast = true;
    this.#closeIfDone();
  }

  /** One at a time, until all have ended; run it as often as requests may be open. */
  async follow(): Promise<void> {
    const { client, how, onEnd } = this.#options;
    for (;;) {
      const sent = await this.#backlog.take();
      how.signal.throwIfAborted();
      if (sent === undefined) return;
      const end = await poll(sent.id, client, how).catch((error: unknown) => {
        if (error instanceof Refusal && error.problem.code === 'job_not_found') return error;
        throw error;
      });
      if (end instanceof Refusal || isFinal(end.state)) {
        await onEnd(sent, end);
        this.#open--;
        this.#closeIfDone();
      } else this.#backlog.push(sent);
    }
  }

  #closeIfDone(): void {
    if (this.#isLast && this.#open === 0) this.#backlog.close();
  }
}
