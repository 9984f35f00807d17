import type { Log } from '../../telemetry/log.js';
import type { JobConsumer } from '../job-store.js';
import type { Outcome, TicketWorker } from './bull.js';
import type { Ticket } from './keys.js';
import { CLOSE_MS, STUCK_MS } from './timing.js';

export interface TicketConsumerOptions {
  readonly slots: number;
  readonly log: Log;
  /** For the log. */
  readonly queue: string;
  createWorker(slots: number, run: (ticket: Ticket) => Promise<Outcome>): TicketWorker;
  run(ticket: Ticket): Promise<Outcome>;
  /** How many are in the hands of whoever does them; the others read or write something. */
  busy(): number;
  /** Whether Redis is there. */
  isUp(): boolean;
  /** Whether there is something that a worker could take. */
  isWaiting(): Promise<boolean>;
}

const CLOSE_STEP_MS = 100;

/** Does what tickets stand for, and replaces its worker when that takes nothing any more. */
export class TicketConsumer implements JobConsumer {
  readonly #options: TicketConsumerOptions;
  readonly #running = new Set<Promise<unknown>>();
  readonly #watch: NodeJS.Timeout;
  #worker: TicketWorker;
  #movedAt = performance.now();
  /** Doubles while new workers do not help either. */
  #patienceMs = STUCK_MS;
  #isLooking = false;
  #isHeld = false;
  #closing: Promise<void> | undefined;

  constructor(options: TicketConsumerOptions) {
    this.#options = options;
    this.#worker = this.#start(options.slots);
    this.#watch = setInterval(() => {
      void this.#look();
    }, STUCK_MS / 4);
  }

  get active(): number {
    return this.#running.size;
  }

  get movedAt(): number {
    return this.#movedAt;
  }

  hold(isHeld: boolean): void {
    if (isHeld === this.#isHeld) return;
    this.#isHeld = isHeld;
    this.#moved();
    const done = isHeld ? this.#worker.pause() : this.#worker.resume();
    done.catch(() => undefined);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Lets go of everything at once. */
  abort(): void {
    clearInterval(this.#watch);
    this.#closing ??= Promise.resolve();
    this.#worker.close(true).catch(() => undefined);
  }

  async #close(): Promise<void> {
    clearInterval(this.#watch);
    const options = this.#options;
    const closed = this.#worker.close(!options.isUp()).catch(() => undefined);
    let awayMs = 0;
    // Whoever does them may take as long as it likes, but Redis is not waited for without end:
    // what cannot be written is done again by somebody else.
    while (this.#running.size > 0 && awayMs < CLOSE_MS) {
      await Promise.race([...this.#running, sleep(CLOSE_STEP_MS)]).catch(() => undefined);
      awayMs = options.isUp() || options.busy() > 0 ? 0 : awayMs + CLOSE_STEP_MS;
    }
    await Promise.race([closed, sleep(CLOSE_MS)]);
  }

  #start(slots: number): TicketWorker {
    return this.#options.createWorker(slots, (ticket) => this.#run(ticket));
  }

  async #run(ticket: Ticket): Promise<Outcome> {
    // One that was on its way when this consumer was closed or held.
    if (this.#closing !== undefined || this.#isHeld) return { kind: 'back' };
    this.#moved();
    const running = this.#options.run(ticket);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
      this.#moved();
    }
  }

  #moved(): void {
    this.#movedAt = performance.now();
    this.#patienceMs = STUCK_MS;
  }

  /** Workers have been seen that look healthy and take nothing, after an outage for example. */
  async #look(): Promise<void> {
    const { slots, log, queue } = this.#options;
    const isQuiet = (): boolean =>
      this.#closing === undefined &&
      !this.#isHeld &&
      this.active < slots &&
      performance.now() - this.#movedAt > this.#patienceMs;
    if (this.#isLooking || !isQuiet() || !this.#options.isUp()) return;
    this.#isLooking = true;
    try {
      if (!(await this.#options.isWaiting()) || !isQuiet()) return;
      log.warn({ queue, quiet_ms: Math.round(this.#patienceMs) }, 'a stuck job worker is replaced');
      this.#patienceMs *= 2;
      this.#replace();
    } catch {
      // Redis is away again.
    } finally {
      this.#isLooking = false;
    }
  }

  #replace(): void {
    const old = this.#worker;
    const kept = [...this.#running];
    const worker = this.#start(Math.max(1, this.#options.slots - kept.length));
    this.#worker = worker;
    // What the old one has in work stays its own, or it would be run twice.
    old.pause().catch(() => undefined);
    void Promise.allSettled(kept).then(async () => {
      worker.slots = this.#options.slots;
      await old.close(true).catch(() => undefined);
    });
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
