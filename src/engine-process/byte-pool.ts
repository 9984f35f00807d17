/**
 * Shared memory for compressed images on their way to a lane. Blocks are kept in sizes of powers
 * of two and reused: fresh memory would cost a page fault for every 4 KB of every image.
 */
export class BytePool {
  readonly #free = new Map<number, SharedArrayBuffer[]>();
  readonly #maxKeptBytes: number;
  #keptBytes = 0;

  constructor(maxKeptBytes = 32 * 2 ** 20) {
    this.#maxKeptBytes = maxKeptBytes;
  }

  take(bytes: number): Uint8Array {
    const size = blockSize(bytes);
    const block = this.#free.get(size)?.pop();
    if (block !== undefined) this.#keptBytes -= size;
    return new Uint8Array(block ?? new SharedArrayBuffer(size), 0, bytes);
  }

  /** The caller must not touch `view` afterwards. */
  giveBack(view: Uint8Array): void {
    const size = view.buffer.byteLength;
    if (!(view.buffer instanceof SharedArrayBuffer)) return;
    if (this.#keptBytes + size > this.#maxKeptBytes) return;
    this.#keptBytes += size;
    const blocks = this.#free.get(size);
    if (blocks === undefined) this.#free.set(size, [view.buffer]);
    else blocks.push(view.buffer);
  }
}

function blockSize(bytes: number): number {
  const smallest = 64 * 1024;
  return Math.max(smallest, 2 ** Math.ceil(Math.log2(bytes)));
}
