import { ShoalError } from '../errors.js';

/** Bounds the bytes of all requests that are being received or answered. */
export class ByteBudget {
  readonly #maxBytes: number;
  #usedBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Reserves room for a body before it is read. The returned function gives it back, once. */
  reserve(bytes: number): () => void {
    if (this.#usedBytes + bytes > this.#maxBytes) {
      throw new ShoalError(
        'memory_full',
        'The server already holds as many request bytes as it may.',
        { retryAfterSeconds: 1 },
      );
    }
    this.#usedBytes += bytes;
    let isHeld = true;
    return () => {
      if (isHeld) this.#usedBytes -= bytes;
      isHeld = false;
    };
  }
}
