import { estimateDecodeBytes } from '../image/limits.js';
import type { Item } from './item.js';
import type { Waitlist } from './waitlist.js';

/** Keeps pictures that are decoded at the same time from taking more memory than they may. */
export class DecodeBudget {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Takes what these need out of the budget, whether it is there or not; gives back what it was. */
  spend(items: readonly Item[]): number {
    const cost = items.reduce((sum, item) => sum + decodeCost(item), 0);
    this.#bytes += cost;
    return cost;
  }

  giveBack(cost: number): void {
    this.#bytes -= cost;
  }

  /** One picture may always be decoded, however large: it was admitted. */
  allows(item: Item): boolean {
    return this.#bytes === 0 || this.#bytes + decodeCost(item) <= this.#maxBytes;
  }

  /** Takes as many of the next items out of the list as may be decoded together. */
  takeFrom(source: Waitlist, interactive: number, background: number): Item[] {
    let cost = this.#bytes;
    const fits = (item: Item): boolean => {
      const isOnly = cost === 0;
      cost += decodeCost(item);
      return isOnly || cost <= this.#maxBytes;
    };
    const misfit = source.interactive.slice(0, interactive).findIndex((item) => !fits(item));
    if (misfit >= 0) return source.take(misfit, 0);
    const tooMuch = source.background.slice(0, background).findIndex((item) => !fits(item));
    return source.take(interactive, tooMuch >= 0 ? tooMuch : background);
  }
}

function decodeCost({ meta }: Item): number {
  return estimateDecodeBytes(meta.image);
}
