import { DelayedError, type Job, Queue, WaitingError, Worker } from 'bullmq';
import type { JobPriority } from '../job.js';
import type { RedisClient } from './connection.js';
import { parseTicket, type Ticket, ticketId } from './keys.js';

/** BullMQ is the dispatcher: it keeps the order, hands out tickets and notices lost workers. */

const PRIORITIES: Readonly<Record<JobPriority, number>> = { high: 1, normal: 2, low: 3 };
/** Nobody reads BullMQ's events. */
const EVENTS = { events: { maxLen: 100 } };
/** Seconds for which an idle worker blocks; also how soon it notices that nobody answers. */
const DRAIN_SECONDS = 1;
/** How often a job may be lost is decided by its record. */
const NEVER = 1_000_000;

export class TicketQueue {
  readonly #queue: Queue;

  constructor(name: string, prefix: string, client: RedisClient) {
    this.#queue = new Queue(name, {
      connection: client,
      prefix,
      streams: EVENTS,
      skipVersionCheck: true,
      skipWaitingForReady: true,
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    });
    this.#queue.on('error', () => undefined);
  }

  /** Nothing happens when it is there already. */
  async add(ticket: Ticket, priority: JobPriority, delayMs = 0): Promise<void> {
    const jobId = ticketId(ticket);
    const delay = Math.max(0, delayMs);
    await this.#queue.add('', null, { jobId, priority: PRIORITIES[priority], delay });
  }

  /** One that is in work stays. */
  async remove(ticket: Ticket): Promise<void> {
    await this.#queue.remove(ticketId(ticket));
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }
}

/** What becomes of a ticket that was run. */
export type Outcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'later'; readonly at: number }
  /** Back to the front of its priority. */
  | { readonly kind: 'back' };

export interface WorkerOptions {
  readonly queue: string;
  readonly prefix: string;
  readonly client: RedisClient;
  readonly slots: number;
  readonly leaseMs: number;
  readonly run: (ticket: Ticket) => Promise<Outcome>;
  readonly onError: (error: Error) => void;
}

/** Takes tickets, keeps them locked while they run, and takes over those of lost workers. */
export class TicketWorker {
  readonly #worker: Worker;

  constructor({ queue, prefix, client, slots, leaseMs, run, onError }: WorkerOptions) {
    this.#worker = new Worker(queue, (job, token) => runTicket(job, token, run), {
      connection: client,
      prefix,
      concurrency: slots,
      lockDuration: leaseMs,
      lockRenewTime: leaseMs / 3,
      stalledInterval: Math.min(5000, Math.max(250, leaseMs / 4)),
      maxStalledCount: NEVER,
      drainDelay: DRAIN_SECONDS,
      runRetryDelay: 500,
      skipVersionCheck: true,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    });
    this.#worker.on('error', onError);
  }

  set slots(slots: number) {
    this.#worker.concurrency = slots;
  }

  /** Takes nothing more, but goes on to keep what it has. */
  async pause(): Promise<void> {
    await this.#worker.pause(true);
  }

  async resume(): Promise<void> {
    await this.#worker.resume();
  }

  /** Waits for what is in work, unless it is forced. */
  async close(isForced: boolean): Promise<void> {
    await this.#worker.close(isForced);
  }
}

async function runTicket(
  job: Job,
  token: string | undefined,
  run: WorkerOptions['run'],
): Promise<void> {
  const outcome = await run(parseTicket(job.id ?? ''));
  if (outcome.kind === 'later') {
    await job.moveToDelayed(outcome.at, token);
    throw new DelayedError();
  }
  if (outcome.kind === 'back') {
    await job.moveToWait(token);
    throw new WaitingError();
  }
}
