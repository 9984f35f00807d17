import type { Item } from './item.js';
import type { Lane } from './lane-messages.js';

/** What each lane has been given, in order: it works on the first. */
export class InWork {
  readonly #batches = new Map<Lane, (readonly Item[])[]>();

  begin(lane: Lane, batch: readonly Item[]): void {
    const batches = this.#batches.get(lane);
    if (batches === undefined) this.#batches.set(lane, [batch]);
    else batches.push(batch);
  }

  /** The lane is done with it; saying so twice does no harm. */
  end(lane: Lane, batch: readonly Item[]): void {
    const batches = this.#batches.get(lane);
    const at = batches?.indexOf(batch) ?? -1;
    if (at >= 0) batches?.splice(at, 1);
  }

  /** What is staged behind it does not count. */
  idsIn(lane: Lane): number[] {
    return (this.#batches.get(lane)?.[0] ?? []).map(({ meta }) => meta.id);
  }
}
