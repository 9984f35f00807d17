import type { ItemTaker, RemoteImage } from './image-source.js';
import type { ItemMeta, Results } from './messages.js';

/**
 * Items of one engine whose images come from other processes. When such a process ends, nobody
 * knows which of its items have arrived; they are reported as dropped at once, and what the engine
 * may still say about them is left out, so that every item is reported exactly once.
 */
export class RemoteItems implements ItemTaker {
  readonly key: number;
  readonly #report: (results: Results) => void;
  readonly #inside = new Map<number, RemoteImage>();
  readonly #lost = new Set<number>();

  constructor(key: number, report: (results: Results) => void) {
    this.key = key;
    this.#report = report;
  }

  send(meta: ItemMeta, image: RemoteImage): void {
    this.#inside.set(meta.id, image);
    image.sendTo(this, meta);
  }

  lost(id: number): void {
    const image = this.#inside.get(id);
    if (image === undefined) return;
    this.#inside.delete(id);
    this.#lost.add(id);
    this.#report({ items: [{ id, dropped: 'cancelled', stage: 'undecoded' }] });
    image.leave(this);
  }

  /** Passes on what the engine says, without what was said before. */
  reported(results: Results): void {
    if (this.#lost.size === 0) this.#report(results);
    else {
      const items = results.items.filter(({ id }) => !this.#lost.delete(id));
      this.#report({ ...results, items });
    }
    if (this.#inside.size === 0) return;
    for (const { id } of results.items) {
      this.#inside.get(id)?.leave(this);
      this.#inside.delete(id);
    }
  }

  /** The engine has ended, and whoever asks whose fault it was has asked. */
  end(): void {
    for (const image of this.#inside.values()) image.leave(this);
    this.#inside.clear();
  }
}
