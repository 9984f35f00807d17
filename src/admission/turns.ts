import type { Tenant } from './tenant.js';

/**
 * In which order an engine takes the items of several tenants: start-time fair queueing. Each item
 * of a tenant comes a step after the one before it, and nobody comes before those that have left
 * already. So the items of one tenant stay in their order however many there are, and whoever has
 * little in work goes before whoever has much.
 */
export class Turns {
  /** The latest that has left. */
  #clock = 1;
  readonly #last = new WeakMap<Tenant, number>();

  /**
   * @param inWork how many items of this tenant are in work
   * @returns lower ones go first; 0 for the only one of its tenant
   */
  next(tenant: Tenant, inWork: number): number {
    const after = inWork === 0 ? 0 : (this.#last.get(tenant) ?? 0) + 1;
    const turn = Math.max(this.#clock, after);
    this.#last.set(tenant, turn);
    return inWork === 0 ? 0 : turn;
  }

  left(turn: number): void {
    this.#clock = Math.max(this.#clock, turn);
  }
}
