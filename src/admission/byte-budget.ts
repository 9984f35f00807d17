import { ShoalError } from '../errors.js';

/** What one request holds of the budget. */
export interface Reservation {
  /** @throws when there is no room for as many bytes more */
  grow(bytes: number): void;
  /** Gives everything back; further calls do nothing. */
  release(): void;
}

/**
 * Bounds the bytes of all requests that are being received or answered. They are counted as they
 * arrive: a client that only announces a large body keeps nobody else out.
 */
export class ByteBudget {
  readonly #maxBytes: number;
  #usedBytes = 0;
  /** What other processes of this server hold; it counts as if it were here. */
  othersBytes = 0;
  /** What this process holds has changed. */
  onChange: (() => void) | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Of all processes. */
  get usedBytes(): number {
    return this.ownBytes + this.othersBytes;
  }

  get ownBytes(): number {
    return this.#usedBytes;
  }

  /** @throws when a body of this size could not be taken now, so that it need not be read */
  open(announcedBytes: number): Reservation {
    this.#check(announcedBytes);
    let held = 0;
    let isOpen = true;
    return {
      grow: (bytes) => {
        if (!isOpen) return;
        this.#check(bytes);
        held += bytes;
        this.#usedBytes += bytes;
        this.onChange?.();
      },
      release: () => {
        if (!isOpen) return;
        isOpen = false;
        this.#usedBytes -= held;
        this.onChange?.();
      },
    };
  }

  #check(bytes: number): void {
    if (this.usedBytes + bytes <= this.#maxBytes) return;
    throw new ShoalError(
      'memory_full',
      'The server already holds as many request bytes as it may.',
      { retryAfterSeconds: 1 },
    );
  }
}
