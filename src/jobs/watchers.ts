import type { JobStore } from './job-store.js';

/** Somebody who waits for a job to change. */
export interface Watch extends Disposable {
  /** Resolves after a change since the last call, or after `ms`, or when the server stops. */
  next(ms: number): Promise<void>;
}

/** Wakes those who follow jobs. */
export class JobWatchers {
  readonly #watches = new Map<string, Set<() => void>>();
  readonly #recheckMs: number;
  #isClosed = false;

  constructor(store: Pick<JobStore, 'onChange' | 'recheckMs'>) {
    this.#recheckMs = store.recheckMs;
    store.onChange((id) => {
      for (const wake of this.#watches.get(id) ?? []) wake();
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Begin to watch before the job is read, or a change in between is missed. */
  watch(id: string): Watch {
    let isChanged = false;
    let resolve: (() => void) | undefined;
    const wake = (): void => {
      isChanged = true;
      resolve?.();
    };
    const others = this.#watches.get(id) ?? new Set();
    this.#watches.set(id, others.add(wake));
    return {
      next: async (ms) => {
        if (!isChanged && !this.#isClosed) {
          await new Promise<void>((done) => {
            const timer = setTimeout(done, Math.min(ms, this.#recheckMs));
            resolve = () => {
              clearTimeout(timer);
              done();
            };
          });
        }
        resolve = undefined;
        isChanged = false;
      },
      [Symbol.dispose]: () => {
        others.delete(wake);
        if (others.size === 0 && this.#watches.get(id) === others) this.#watches.delete(id);
        wake();
      },
    };
  }

  /** Nobody waits any longer. */
  close(): void {
    this.#isClosed = true;
    for (const watches of this.#watches.values()) for (const wake of watches) wake();
  }
}
