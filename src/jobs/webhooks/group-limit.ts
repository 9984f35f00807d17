const SHORTEST_MS = 200;
const LONGEST_MS = 300_000;
/** Until the first attempt has shown how long they take. */
const FIRST_GUESS_MS = 1000;
/** How much the last attempt counts. */
const FRESHNESS = 0.3;

interface Group {
  active: number;
  typicalMs: number;
  /** When the last one that was sent away should find a place. */
  bookedUntil: number;
}

export type Entry =
  | {
      readonly isAdmitted: true;
      leave(): void;
      /** Leaves without an attempt, which says nothing about how long they take. */
      withdraw(): void;
    }
  /** Come back after this time: that is when there should be a place. */
  | { readonly isAdmitted: false; readonly delayMs: number };

/** Keeps those with the same name, one host or one owner, from holding all slots. */
export class GroupLimit {
  readonly #groups = new Map<string, Group>();
  readonly #maxActive: number;
  readonly #now: () => number;

  /** @param maxActive attempts of one group at a time */
  constructor(maxActive: number, now: () => number = () => performance.now()) {
    this.#maxActive = maxActive;
    this.#now = now;
  }

  /** Groups that are remembered. */
  get size(): number {
    return this.#groups.size;
  }

  enter(name: string): Entry {
    const now = this.#now();
    const group = this.#groups.get(name) ?? {
      active: 0,
      typicalMs: FIRST_GUESS_MS,
      bookedUntil: now,
    };
    this.#groups.set(name, group);
    if (group.active < this.#maxActive) {
      group.active++;
      return {
        isAdmitted: true,
        leave: () => {
          group.typicalMs += (this.#now() - now - group.typicalMs) * FRESHNESS;
          this.#leave(name, group);
        },
        withdraw: () => {
          this.#leave(name, group);
        },
      };
    }
    // Each is told a later time: if all came back at once, most would come in vain.
    const turn = Math.max(group.bookedUntil, now) + group.typicalMs / this.#maxActive;
    const delayMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, turn - now));
    group.bookedUntil = Math.min(turn, now + LONGEST_MS);
    return { isAdmitted: false, delayMs: Math.ceil(delayMs) };
  }

  #leave(name: string, group: Group): void {
    group.active--;
    if (group.active === 0) this.#groups.delete(name);
  }
}
