/**
 * Memory for batches on their way from a helper to a session and back. All pieces are as large as
 * the largest batch: fresh memory would cost a page fault for every 4 KB of every batch.
 */
export class PixelPool {
  readonly #bytes: number;
  readonly #free: ArrayBuffer[] = [];

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  take(): ArrayBuffer {
    return this.#free.pop() ?? new ArrayBuffer(this.#bytes);
  }

  giveBack(pixels: ArrayBuffer): void {
    this.#free.push(pixels);
  }
}
