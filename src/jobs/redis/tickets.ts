import type { Log } from '../../telemetry/log.js';
import type { JobPriority } from '../job.js';
import { TicketQueue } from './bull.js';
import { jobQueue, keys, type Ticket, WEBHOOK_QUEUE } from './keys.js';
import type { Link } from './link.js';

/**
 * Tells BullMQ about jobs and deliveries. Records are the truth and are written first; whatever
 * fails here is made good by the sweeper.
 */
export class Tickets {
  readonly #link: Link;
  readonly #prefix: string;
  readonly #log: Log;
  readonly #queues = new Map<string, TicketQueue>();
  readonly #open = new Set<Promise<void>>();

  constructor(link: Link, prefix: string, log: Log) {
    this.#link = link;
    this.#prefix = prefix;
    this.#log = log;
  }

  async add(queue: string, ticket: Ticket, priority: JobPriority, delayMs?: number): Promise<void> {
    await this.#try('add', () => this.#queue(jobQueue(queue)).add(ticket, priority, delayMs));
  }

  remove(queue: string, ticket: Ticket): Promise<void> {
    return this.#try('remove', () => this.#queue(jobQueue(queue)).remove(ticket));
  }

  announce(ticket: Ticket): Promise<void> {
    return this.#try('announce', () => this.#queue(WEBHOOK_QUEUE).add(ticket, 'normal'));
  }

  async close(): Promise<void> {
    await Promise.all(this.#open);
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()));
  }

  #queue(name: string): TicketQueue {
    let queue = this.#queues.get(name);
    if (queue === undefined) {
      queue = new TicketQueue(name, keys.bull(this.#prefix), this.#link.client);
      this.#queues.set(name, queue);
    }
    return queue;
  }

  async #try(what: string, work: () => Promise<void>): Promise<void> {
    const done = this.#link.call(work).catch((error: unknown) => {
      this.#log.debug({ err: error, what }, 'a ticket is left to the sweeper');
    });
    this.#open.add(done);
    await done;
    this.#open.delete(done);
  }
}
