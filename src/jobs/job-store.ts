import type { Cancellation } from '../cancellation.js';
import type { FinalState, ImageResult, JobProblem, JobRecord, JobSpec, JobState } from './job.js';

/** A job as it is handed in. */
export interface NewJob extends JobSpec {
  readonly images: readonly Uint8Array[];
  /** Makes a second submission of the same thing by the same owner return the first job. */
  readonly idempotencyKey?: string;
  /** Tells whether it is the same thing: a digest of everything the client said. */
  readonly fingerprint: string;
}

export interface Submission {
  readonly record: JobRecord;
  /** False when the idempotency key had been used for this already. */
  readonly isNew: boolean;
}

export interface JobQuery {
  readonly owner: string;
  readonly state?: JobState;
  readonly limit: number;
  /** From the page before. */
  readonly cursor?: string;
}

/** Newest first. Records without position and results. */
export interface JobPage {
  readonly jobs: readonly JobRecord[];
  /** Where the next page begins; absent on the last one. */
  readonly cursor?: string;
}

/** A job that is this process's to run, for as long as the store says so. */
export interface Claim {
  readonly job: JobRecord;
  /** One of its images. Asked for when it is needed, so that a large job is never all in memory. */
  image(at: number): Promise<Uint8Array>;
  /** Set off when the job was cancelled, has expired or was given to somebody else. */
  readonly cancellation: Cancellation;
  /** Tells readers; may be left out when there is too much of it. */
  progress(done: number): void;
}

export type Verdict =
  | { readonly kind: 'completed'; readonly results: readonly ImageResult[] }
  | {
      readonly kind: 'failed';
      readonly problem: JobProblem;
      readonly results?: readonly ImageResult[];
    }
  /** Not before `delayMs`. `isBlamed`: the job itself may be the reason, so it counts as a try. */
  | {
      readonly kind: 'retry';
      readonly problem: JobProblem;
      readonly delayMs: number;
      readonly isBlamed: boolean;
    }
  /** Back to its place in the queue as if nothing had been: this process stops. */
  | { readonly kind: 'released' };

export interface ConsumerOptions {
  readonly model: string;
  /** Jobs in work at once. */
  readonly slots: number;
  /** Never rejects. What it says is ignored once the cancellation has been set off. */
  run(claim: Claim): Promise<Verdict>;
}

/** A finished job whose receiver has not been told yet. */
export interface Delivery {
  readonly job: JobRecord;
  readonly webhookUrl: string;
  /** 1 for the first. */
  readonly attempt: number;
}

export type DeliveryVerdict =
  | { readonly kind: 'delivered' }
  /**
   * Not before `delayMs`. Unless `isCounted` it was not tried at all, its receiver has enough to
   * do: the attempts and the reason that are on record stay as they are.
   */
  | {
      readonly kind: 'retry';
      readonly delayMs: number;
      readonly reason: string;
      readonly isCounted: boolean;
    }
  | { readonly kind: 'abandoned'; readonly reason: string }
  /** As if it had not been tried: this process stops. */
  | { readonly kind: 'released' };

export interface CourierOptions {
  readonly slots: number;
  /** Never rejects. */
  run(delivery: Delivery): Promise<DeliveryVerdict>;
}

export interface Consumer {
  /** In work at the moment. */
  readonly active: number;
  /** When it last took something or finished something, on `performance.now()`'s clock. */
  readonly movedAt: number;
  /** Takes nothing more; resolves when everything in work has its verdict written. */
  close(): Promise<void>;
}

/** Runs jobs. */
export interface JobConsumer extends Consumer {
  /** Takes nothing more for as long as it is held; what is in work goes on. */
  hold(isHeld: boolean): void;
}

export interface StoreStats {
  readonly jobs: Readonly<Record<JobState, number>>;
  /** Queued jobs that could run now, by model: how many, and since when the oldest could. */
  readonly waiting: Readonly<Record<string, { readonly count: number; readonly since: number }>>;
  readonly webhooksPending: number;
  /** What the store occupies: images, results and records. */
  readonly bytes: number;
}

/**
 * Where jobs live. Both implementations pass `test/jobs/store-conformance.ts`, which says in
 * detail what is promised. In short:
 *
 * - What `submit` has answered survives the end of every process.
 * - A job is run at least once, and has exactly one final state, which never changes except by
 *   `retry`. Whoever lost its claim cannot write any more.
 * - Everything that changes a job also changes its `version` and is told to `onChange`.
 * - Methods reject with a `ShoalError`: `store_unavailable` when the store cannot be reached,
 *   `store_full` when there is no room.
 */
export interface JobStore {
  readonly kind: 'embedded' | 'redis';
  /** Where jobs are, for people; without passwords. */
  readonly place: string;

  /** Resolves when it is durable. @throws `idempotency_conflict`, `queue_full`, `store_full` */
  submit(job: NewJob): Promise<Submission>;
  get(id: string): Promise<JobRecord | undefined>;
  list(query: JobQuery): Promise<JobPage>;
  /** What is final stays as it is. */
  cancel(id: string): Promise<JobRecord | undefined>;
  /** Queues a failed, cancelled or expired job again, with fresh tries. @throws `job_conflict` */
  retry(id: string, expiresAt: number): Promise<JobRecord | undefined>;
  /** Removes an owner's finished jobs in these states and says how many. */
  purge(owner: string, states: readonly FinalState[]): Promise<number>;

  stats(): Promise<StoreStats>;
  /** Whether it can take jobs now; the text is for people. */
  readonly status: { readonly isUp: boolean; readonly detail: string };

  /** A hint that a job may have changed. Whoever relies on one looks again after `recheckMs`. */
  onChange(listener: (id: string) => void): void;
  /** How long a hint can be missed: not at all within a process, easily over a network. */
  readonly recheckMs: number;

  consume(options: ConsumerOptions): JobConsumer;
  deliver(options: CourierOptions): Consumer;

  /** After the consumers have been closed. */
  close(): Promise<void>;
}

/** Limits that every store keeps. */
export interface StoreLimits {
  /** Jobs that may wait or run. More are refused. */
  readonly maxOpenJobs: number;
  /** What the store may occupy. Finished jobs go first, then new ones are refused. */
  readonly maxBytes: number;
  /** How long finished jobs are kept, and how many. */
  readonly keepMs: number;
  readonly keepCount: number;
  /** A claim that is not renewed for this long is lost. */
  readonly leaseMs: number;
}

/** A job whose runner has disappeared this often is suspected to be the reason. */
export const MAX_LOSSES = 5;
