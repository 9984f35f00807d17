import { dropReason, type Item } from './item.js';

/**
 * Items that wait for the same thing, interactive ones apart from background ones. Of each kind,
 * those whose tenants have little else in work come first, then those that came first.
 */
export class Waitlist {
  #interactive: Item[] = [];
  #background: Item[] = [];
  /** Before this, there is nobody to sweep. */
  #sweepAt = Number.POSITIVE_INFINITY;

  add(item: Item): void {
    this.#sweepAt = Math.min(this.#sweepAt, sweepTime(item));
    const list = item.meta.isBackground ? this.#background : this.#interactive;
    const behind = list.findLastIndex(({ meta }) => meta.rank <= item.meta.rank);
    list.splice(behind + 1, 0, item);
  }

  get size(): number {
    return this.#interactive.length + this.#background.length;
  }

  get interactive(): readonly Item[] {
    return this.#interactive;
  }

  get background(): readonly Item[] {
    return this.#background;
  }

  /** How long the interactive ones have waited and were held back at most, and still can be. */
  times(now: number): { oldestMs: number; heldMs: number; slackMs: number } {
    let [oldestMs, heldMs, slackMs] = [0, 0, Number.POSITIVE_INFINITY];
    for (const { waitingSince, heldSince = now, deadline } of this.#interactive) {
      oldestMs = Math.max(oldestMs, now - waitingSince);
      heldMs = Math.max(heldMs, now - heldSince);
      slackMs = Math.min(slackMs, deadline - now);
    }
    return { oldestMs, heldMs, slackMs };
  }

  /** How many interactive ones are of tenants that have nothing else in work; they come first. */
  get modest(): number {
    const others = this.#interactive.findIndex(({ meta }) => meta.rank > 0);
    return others < 0 ? this.#interactive.length : others;
  }

  /** The one whose turn is next. */
  get first(): Item | undefined {
    return this.#interactive[0] ?? this.#background[0];
  }

  takeFirst(): Item | undefined {
    return this.#interactive.shift() ?? this.#background.shift();
  }

  /** Takes the oldest of each kind out. */
  take(interactive: number, background: number): Item[] {
    return [...this.#interactive.splice(0, interactive), ...this.#background.splice(0, background)];
  }

  /** Somebody here may have been cancelled. */
  recheck(): void {
    this.#sweepAt = Number.NEGATIVE_INFINITY;
  }

  /** Takes out those that need not be computed any more, which are few. */
  sweep(now: number): Item[] {
    if (now < this.#sweepAt) return [];
    const swept: Item[] = [];
    this.#sweepAt = Number.POSITIVE_INFINITY;
    const isWanted = (item: Item): boolean => {
      const isUnwanted = dropReason(item, now) !== undefined;
      if (isUnwanted) swept.push(item);
      else this.#sweepAt = Math.min(this.#sweepAt, item.deadline);
      return !isUnwanted;
    };
    this.#interactive = this.#interactive.filter(isWanted);
    this.#background = this.#background.filter(isWanted);
    return swept;
  }
}

function sweepTime({ cancelled, deadline }: Item): number {
  return cancelled ? Number.NEGATIVE_INFINITY : deadline;
}
