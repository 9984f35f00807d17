type Lookup = (host: string) => Promise<readonly string[]>;

/**
 * One look-up at a time. The system's own resolver blocks one of the few threads that Node has for
 * it, and the connections to Redis need them too: names that are slow to look up must not take all.
 */
export class LookupTurns {
  readonly #lookup: Lookup;
  readonly #waiting = new Set<() => void>();
  #isBusy = false;

  constructor(lookup: Lookup) {
    this.#lookup = lookup;
  }

  /** Waits for its turn and looks the name up. @throws when the signal comes before the turn */
  async resolve(host: string, signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    if (this.#isBusy) await this.#turn(signal);
    this.#isBusy = true;
    try {
      // One that was given up cannot be stopped, so its turn lasts until it returns.
      return await this.#lookup(host);
    } finally {
      this.#passOn();
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const come = (): void => {
        this.#waiting.delete(come);
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.#waiting.delete(come);
        reject(new Error('the look-up had no turn in time'));
      };
      this.#waiting.add(come);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  /** The turn goes from hand to hand, so that nobody who comes now can take it. */
  #passOn(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#isBusy = false;
    else next();
  }
}
