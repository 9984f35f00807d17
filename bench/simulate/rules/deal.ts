import type { Item, Server } from '../rule.js';

/** One of several copies of a server, each with a queue of its own. */
export interface Replica extends Server {
  /** Items that it has not answered yet. */
  readonly size: number;
}

/** Gives each item to the replica with the fewest; the first of equals. */
export function dealToShortest(replicas: readonly Replica[]): Server {
  return {
    arrive(item: Item): void {
      const shortest = replicas.reduce((best, each) => (each.size < best.size ? each : best));
      shortest.arrive(item);
    },
  };
}
