import { Fifo } from '../fifo.js';
import { type Item, type Rule, type Server, WINDOW_MS, type World } from '../rule.js';

interface Worker {
  readonly session: number;
  readonly batch: Item[];
  /** When its loop began to turn; a window begins every ten milliseconds from there. */
  loopSince: number;
  stopTimer: (() => void) | undefined;
}

/** A request older than this is answered 504 when a worker takes it. */
const REQUEST_TIMEOUT_MS = 30_000;

/**
 * LitServe. Each worker polls the common queue in windows that follow each other without a break
 * (`batch_timeout`, 10 ms here), and runs what a window has brought: a lone request waits until the
 * end of the window in which it happens to arrive. Which of several idle workers gets it is chance.
 *
 * As it comes: an unlimited queue; a client that leaves is not noticed. Left out: the 1 ms steps of
 * the poll, and the time of the manager queue between the processes.
 */
class LitServe implements Server {
  readonly #world: World;
  readonly #queue = new Fifo<Item>();
  readonly #workers: Worker[];

  constructor(world: World) {
    this.#world = world;
    this.#workers = Array.from({ length: world.profile.sessions }, (_, session) => ({
      session,
      batch: [],
      loopSince: 0,
      stopTimer: undefined,
    }));
  }

  arrive(item: Item): void {
    const idle = this.#workers.filter(({ session }) => this.#world.isIdle(session));
    const worker = idle[Math.floor(this.#world.random() * idle.length)];
    if (worker === undefined) this.#queue.push(item);
    else this.#take(worker, item);
  }

  #take(worker: Worker, item: Item): void {
    const { clock, profile } = this.#world;
    worker.batch.push(item);
    if (worker.batch.length >= profile.maxBatch) {
      this.#run(worker);
      return;
    }
    const intoWindowMs = (clock.now - worker.loopSince) % WINDOW_MS;
    worker.stopTimer ??= clock.after(WINDOW_MS - intoWindowMs, () => {
      this.#run(worker);
    });
  }

  #run(worker: Worker): void {
    worker.stopTimer?.();
    worker.stopTimer = undefined;
    this.#world.run(worker.session, worker.batch.splice(0), () => {
      worker.loopSince = this.#world.clock.now;
      this.#takeWaiting(worker);
    });
  }

  #takeWaiting(worker: Worker): void {
    const { clock } = this.#world;
    while (this.#world.isIdle(worker.session)) {
      const item = this.#queue.shift();
      if (item === undefined) return;
      if (clock.now - item.arrivedAt > REQUEST_TIMEOUT_MS) this.#world.drop(item);
      else this.#take(worker, item);
    }
  }
}

export const LITSERVE: Rule = {
  name: 'LitServe',
  create: (world) => new LitServe(world),
};
