/**
 * Tells whoever holds a request at the moment that its answer is no longer wanted. A request is
 * held by one stage at a time, so there is one listener: this is an `AbortSignal` at a tenth of
 * its cost, which shows when every request makes one.
 */
export class Cancellation {
  #reason: Error | undefined;
  #listener: ((reason: Error) => void) | undefined;

  /** Why it was cancelled; `undefined` while it is wanted. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  /** The first reason stays. */
  cancel(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#listener?.(reason);
  }

  /** Replaces the listener of the stage before. Called at once when it is cancelled already. */
  listen(listener: ((reason: Error) => void) | undefined): void {
    this.#listener = listener;
    if (this.#reason !== undefined) listener?.(this.#reason);
  }
}
