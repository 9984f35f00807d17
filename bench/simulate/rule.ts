import type { Clock } from './clock.js';
import type { Profile } from './profile.js';
import type { Random } from './random.js';

/** One image on its way. */
export interface Item {
  readonly id: number;
  readonly arrivedAt: number;
  /** When its client gives up. */
  readonly deadline: number;
  readonly isBackground: boolean;
  /** When its client leaves before that. */
  readonly cancelledAt: number;
}

/** What a server has to work with. */
export interface World {
  readonly profile: Profile;
  readonly clock: Clock;
  readonly random: Random;
  readonly idleSessions: number;
  firstIdle(): number | undefined;
  isIdle(session: number): boolean;
  /** Occupies a session; answers the items, then calls back. */
  run(session: number | 'wide', batch: readonly Item[], done: (tookMs: number) => void): void;
  /** The item is turned away, or given up before it was computed. */
  drop(item: Item): void;
}

/** A server with its rule for when to run what. */
export interface Server {
  arrive(item: Item): void;
}

export interface Rule {
  readonly name: string;
  create(world: World): Server;
}

/** The window of every rule that has one. */
export const WINDOW_MS = 10;
