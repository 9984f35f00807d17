/** What the engine's main thread and an intake (worker thread) say to each other. */

/** To an intake: where to take items from. */
export interface IntakeTask {
  readonly engine: number;
  readonly token: string;
  readonly path: string;
}

/** From an intake: items that have arrived together. */
export interface Arrivals {
  /** Blocks that the main thread does not know yet, by number. */
  readonly blocks: readonly (readonly [number, SharedArrayBuffer])[];
  /** For each item its block, its length there, and its description as JSON. */
  readonly items: readonly (number | string)[];
}
