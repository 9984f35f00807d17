import { Fifo } from '../fifo.js';
import { type Item, type Rule, WINDOW_MS, type World } from '../rule.js';
import { dealToShortest, type Replica } from './deal.js';

/**
 * `@serve.batch` of Ray Serve. The batch is closed when it is full or 10 ms after its first item,
 * even while the one before still runs; closed batches then queue for the one slot
 * (`max_concurrent_batches`). One replica per session; the router picks the shorter of two queues.
 *
 * As it comes: an unlimited queue. Left out: `max_ongoing_requests`, whose default of 5 would keep
 * batches from ever being full, and requests that are cancelled while they wait.
 */
class RayReplica implements Replica {
  readonly #world: World;
  readonly #session: number;
  readonly #closed = new Fifo<readonly Item[]>();
  #open: Item[] = [];
  #stopTimer: (() => void) | undefined;
  size = 0;

  constructor(world: World, session: number) {
    this.#world = world;
    this.#session = session;
  }

  arrive(item: Item): void {
    this.size++;
    this.#open.push(item);
    if (this.#open.length >= this.#world.profile.maxBatch) this.#close();
    else {
      this.#stopTimer ??= this.#world.clock.after(WINDOW_MS, () => {
        this.#close();
      });
    }
  }

  #close(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#closed.push(this.#open);
    this.#open = [];
    this.#runNext();
  }

  #runNext(): void {
    if (!this.#world.isIdle(this.#session)) return;
    const batch = this.#closed.shift();
    if (batch === undefined) return;
    this.#world.run(this.#session, batch, () => {
      this.size -= batch.length;
      this.#runNext();
    });
  }
}

export const RAY_SERVE: Rule = {
  name: 'Ray Serve',
  create(world) {
    const { sessions } = world.profile;
    return dealToShortest(
      Array.from({ length: sessions }, (_, session) => new RayReplica(world, session)),
    );
  },
};
