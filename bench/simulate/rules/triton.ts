import { Fifo } from '../fifo.js';
import { type Item, type Rule, type Server, WINDOW_MS, type World } from '../rule.js';

/**
 * Triton's dynamic batcher. A batch is formed when an instance is free. With a delay, the oldest
 * item is held until it is that old or the batch is full, even if every instance is idle.
 *
 * As it comes: an unlimited queue, no queue timeout; a client that leaves is not noticed. Left out:
 * preferred sizes (the maximum is the only one, which is the default) and priorities.
 */
class Triton implements Server {
  readonly #world: World;
  readonly #delayMs: number;
  readonly #queue = new Fifo<Item>();
  #stopWaiting: (() => void) | undefined;

  constructor(world: World, delayMs: number) {
    this.#world = world;
    this.#delayMs = delayMs;
  }

  arrive(item: Item): void {
    this.#queue.push(item);
    this.#schedule();
  }

  #schedule(): void {
    this.#stopWaiting?.();
    this.#stopWaiting = undefined;
    const { clock, profile } = this.#world;
    for (;;) {
      const oldest = this.#queue.at(0);
      const instance = this.#world.firstIdle();
      if (oldest === undefined || instance === undefined) return;
      const leftMs = oldest.arrivedAt + this.#delayMs - clock.now;
      if (leftMs > 0 && this.#queue.length < profile.maxBatch) {
        this.#stopWaiting = clock.after(leftMs, () => {
          this.#schedule();
        });
        return;
      }
      this.#world.run(instance, this.#queue.take(profile.maxBatch), () => {
        this.#schedule();
      });
    }
  }
}

export const TRITON_0: Rule = {
  name: 'Triton, delay 0',
  create: (world) => new Triton(world, 0),
};
export const TRITON_10: Rule = {
  name: 'Triton, delay 10 ms',
  create: (world) => new Triton(world, WINDOW_MS),
};
