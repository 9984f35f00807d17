import { Fifo } from '../fifo.js';
import { type Item, type Rule, type Server, WINDOW_MS, type World } from '../rule.js';

interface Worker {
  readonly session: number;
  readonly batch: Item[];
  stopTimer: (() => void) | undefined;
}

/** Requests beyond this many are answered 429. */
const CAPACITY = 1024;
/** A request older than this is answered 408, and skipped when a worker takes it. */
const TIMEOUT_MS = 3000;

/**
 * Mosec. A free worker takes an item and then collects for `max_wait_time` (10 ms; it cannot be 0)
 * or until the batch is full, even if it is idle and even if that item has waited long already.
 * Free workers take turns at the common channel, so two idle ones collect halves of a batch.
 *
 * Left out: a client that leaves before the timeout; its request is computed, as it is there.
 */
class Mosec implements Server {
  readonly #world: World;
  readonly #channel = new Fifo<Item>();
  /** Those that would take the next item, in turn. */
  readonly #listening: Worker[];

  constructor(world: World) {
    this.#world = world;
    this.#listening = Array.from({ length: world.profile.sessions }, (_, session) => ({
      session,
      batch: [],
      stopTimer: undefined,
    }));
  }

  arrive(item: Item): void {
    if (this.#channel.length >= CAPACITY) {
      this.#world.drop(item);
      return;
    }
    this.#channel.push(item);
    this.#handOut();
  }

  #handOut(): void {
    while (this.#channel.length > 0) {
      const worker = this.#listening.shift();
      if (worker === undefined) return;
      this.#take(worker, this.#channel.shift() as Item);
    }
  }

  #take(worker: Worker, item: Item): void {
    const { clock, profile } = this.#world;
    worker.batch.push(item);
    if (worker.batch.length >= profile.maxBatch) {
      this.#run(worker);
      return;
    }
    this.#listening.push(worker);
    worker.stopTimer ??= clock.after(WINDOW_MS, () => {
      this.#listening.splice(this.#listening.indexOf(worker), 1);
      this.#run(worker);
    });
  }

  #run(worker: Worker): void {
    worker.stopTimer?.();
    worker.stopTimer = undefined;
    const { now } = this.#world.clock;
    const batch = worker.batch.splice(0).filter((item) => {
      const isInTime = now - item.arrivedAt < TIMEOUT_MS;
      if (!isInTime) this.#world.drop(item);
      return isInTime;
    });
    const listen = (): void => {
      this.#listening.push(worker);
      this.#handOut();
    };
    // A batch of nothing but expired requests: the next one, without growing the stack.
    if (batch.length === 0) this.#world.clock.after(0, listen);
    else this.#world.run(worker.session, batch, listen);
  }
}

export const MOSEC: Rule = {
  name: 'Mosec',
  create: (world) => new Mosec(world),
};
