/** Whoever shares a queue with others. */
export interface Flow {
  readonly name: string;
  /** Twice the weight, twice the share. */
  readonly weight: number;
}

interface Backlog<T> {
  readonly flow: Flow;
  readonly items: T[];
  /** Virtual time at which its next item begins. */
  tag: number;
}

/**
 * Start-time fair queueing: as long as several flows wait, each gets a share of what leaves in
 * proportion to its weight, however much it sends. Within a flow it is first in, first out. A
 * flow that was away has saved nothing up and owes nothing.
 */
export class FairQueue<T> {
  readonly #backlogs = new Map<Flow, Backlog<T>>();
  #virtualTime = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Flows that wait, or have had more than their share so far. */
  get flows(): number {
    return this.#backlogs.size;
  }

  sizeOf(flow: Flow): number {
    return this.#backlogs.get(flow)?.items.length ?? 0;
  }

  push(flow: Flow, item: T): void {
    let backlog = this.#backlogs.get(flow);
    if (backlog === undefined) {
      backlog = { flow, items: [], tag: 0 };
      this.#backlogs.set(flow, backlog);
    }
    backlog.tag = this.#tagOf(backlog);
    backlog.items.push(item);
    this.#size++;
  }

  shift(): T | undefined {
    let next: Backlog<T> | undefined;
    for (const backlog of this.#backlogs.values()) {
      if (backlog.items.length === 0) {
        // As if it had never been there.
        if (backlog.tag <= this.#virtualTime) this.#backlogs.delete(backlog.flow);
      } else if (next === undefined || backlog.tag < next.tag) {
        next = backlog;
      }
    }
    if (next === undefined) return undefined;
    this.#virtualTime = next.tag;
    next.tag += 1 / next.flow.weight;
    const item = next.items.shift();
    this.#left();
    return item;
  }

  /** True when it was still there. */
  remove(flow: Flow, item: T): boolean {
    const items = this.#backlogs.get(flow)?.items ?? [];
    const at = items.indexOf(item);
    if (at < 0) return false;
    items.splice(at, 1);
    this.#left();
    return true;
  }

  /** How many items would leave before one that this flow added now. */
  aheadOf(flow: Flow): number {
    const own = this.#backlogs.get(flow);
    const waiting = own?.items.length ?? 0;
    const tag = this.#tagOf(own) + waiting / flow.weight;
    let ahead = waiting;
    for (const other of this.#backlogs.values()) {
      if (other === own || other.items.length === 0 || other.tag > tag) continue;
      const before = Math.floor((tag - other.tag) * other.flow.weight) + 1;
      ahead += Math.min(other.items.length, before);
    }
    return ahead;
  }

  /** When nobody waits nobody owes anything, and those who came once need not be remembered. */
  #left(): void {
    this.#size--;
    if (this.#size === 0) this.#backlogs.clear();
  }

  #tagOf(backlog: Backlog<T> | undefined): number {
    if (backlog === undefined) return this.#virtualTime;
    return backlog.items.length > 0 ? backlog.tag : Math.max(backlog.tag, this.#virtualTime);
  }
}
