import type { Log } from '../../telemetry/log.js';
import type {
  Consumer,
  ConsumerOptions,
  CourierOptions,
  JobConsumer,
  StoreLimits,
} from '../job-store.js';
import { type Outcome, TicketWorker } from './bull.js';
import { Claims } from './claims.js';
import type { ClockGuard } from './clock-guard.js';
import { Courier } from './courier.js';
import { reasonOf } from './faults.js';
import type { Images } from './images.js';
import { jobQueue, keys, queueOf, type Ticket, WEBHOOK_QUEUE } from './keys.js';
import type { Link } from './link.js';
import { TicketConsumer } from './ticket-consumer.js';
import type { Tickets } from './tickets.js';

export interface StaffOptions {
  /** Waits for Redis as long as it takes. */
  readonly work: Link;
  readonly images: Images;
  readonly tickets: Tickets;
  readonly prefix: string;
  readonly limits: StoreLimits;
  readonly clock: ClockGuard;
  readonly log: Log;
}

interface Post {
  readonly queue: string;
  readonly slots: number;
  run(ticket: Ticket): Promise<Outcome>;
  busy(): number;
  isWaiting(): Promise<boolean>;
}

/** Those who run jobs and deliver webhooks in this process. */
export class Staff {
  readonly #options: StaffOptions;
  readonly #claims = new Set<Claims>();
  readonly #consumers = new Set<TicketConsumer>();

  constructor(options: StaffOptions) {
    this.#options = options;
  }

  /** Something has happened to this job. */
  hint(id: string): void {
    for (const claims of this.#claims) claims.hint(id);
  }

  consume(options: ConsumerOptions): JobConsumer {
    const { model, slots } = options;
    const { work, images, tickets, limits, prefix } = this.#options;
    const claims = new Claims({
      work,
      keepMs: limits.keepMs,
      leaseMs: limits.leaseMs,
      fetchImage: (job, at, cancellation) => images.get(job, at, cancellation),
      announce: (ticket) => void tickets.announce(ticket),
    });
    this.#claims.add(claims);
    const consumer = this.#post({
      queue: jobQueue(queueOf(model)),
      slots,
      run: (ticket) => claims.run(ticket, (claim) => options.run(claim)),
      busy: () => claims.busy,
      isWaiting: async () => (await work.client.zcard(keys.waiting(prefix, model))) > 0,
    });
    return this.#register(consumer, () => {
      claims.close();
      this.#claims.delete(claims);
    });
  }

  deliver(options: CourierOptions): Consumer {
    const { work, prefix } = this.#options;
    const courier = new Courier(work, options);
    const consumer = this.#post({
      queue: WEBHOOK_QUEUE,
      slots: options.slots,
      run: (ticket) => courier.run(ticket),
      busy: () => courier.busy,
      // Deliveries that wait for another attempt are there too, so this asks BullMQ's own list.
      isWaiting: async () =>
        (await work.client.zcard(`${keys.bull(prefix)}:${WEBHOOK_QUEUE}:prioritized`)) > 0,
    });
    return this.#register(consumer, () => undefined);
  }

  /** Lets go of whatever was not closed. */
  abort(): void {
    for (const consumer of this.#consumers) consumer.abort();
    for (const claims of this.#claims) claims.close();
  }

  #post(post: Post): TicketConsumer {
    const { work, prefix, limits, log } = this.#options;
    return new TicketConsumer({
      ...post,
      log,
      isUp: () => work.isUp,
      createWorker: (slots, run) =>
        new TicketWorker({
          queue: post.queue,
          prefix: keys.bull(prefix),
          client: work.client,
          slots,
          leaseMs: limits.leaseMs,
          run,
          onError: (error) => {
            log.debug({ queue: post.queue, reason: reasonOf(error) }, 'a job worker had trouble');
          },
        }),
    });
  }

  /** Keeps the consumer in mind until it has been closed, and holds it while the clock is wrong. */
  #register(consumer: TicketConsumer, whenClosed: () => void): JobConsumer {
    const { clock } = this.#options;
    let isWanted = true;
    const update = (): void => {
      consumer.hold(!isWanted || !clock.isRight);
    };
    this.#consumers.add(consumer);
    const unlisten = clock.onChange(update);
    update();
    return {
      get active() {
        return consumer.active;
      },
      get movedAt() {
        return consumer.movedAt;
      },
      hold: (isHeld) => {
        isWanted = !isHeld;
        update();
      },
      close: async () => {
        unlisten();
        await consumer.close();
        this.#consumers.delete(consumer);
        whenClosed();
      },
    };
  }
}
