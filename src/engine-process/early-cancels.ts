/** Most cancellations of what is not here are late and mean nothing; only so many are kept. */
const MAX_KEPT = 1024;

/**
 * Cancellations of items that are still to come. Images may come from another process than they
 * are cancelled by, and be overtaken on the way.
 */
export class EarlyCancels {
  readonly #ids = new Set<number>();

  add(id: number): void {
    this.#ids.add(id);
    const [oldest] = this.#ids;
    if (this.#ids.size > MAX_KEPT && oldest !== undefined) this.#ids.delete(oldest);
  }

  /** Whether an item that has come now was cancelled before. */
  take(id: number): boolean {
    return this.#ids.delete(id);
  }
}
