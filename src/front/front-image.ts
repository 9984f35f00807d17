import type { ItemTaker, RemoteImage } from '../engine/image-source.js';
import type { ItemMeta } from '../engine/messages.js';
import type { ToFront } from './protocol.js';

interface ImageHost {
  readonly send: (message: ToFront) => void;
  /** Nobody will ask for it any more. */
  onDone(image: FrontImage): void;
}

/** An image that a front holds, as the server process sees it. */
export class FrontImage implements RemoteImage {
  readonly seq: number;
  readonly bytes: number;
  readonly #host: ImageHost;
  /** The engines that have it, or are about to, with the number it has there. */
  readonly #takers = new Map<ItemTaker, number>();
  #hash: string | undefined;
  #onHash: ((hash: string) => void)[] = [];
  #isSettled = false;

  constructor(seq: number, bytes: number, host: ImageHost) {
    this.seq = seq;
    this.bytes = bytes;
    this.#host = host;
  }

  get hash(): string | undefined {
    return this.#hash;
  }

  askHash(then: (hash: string) => void): void {
    if (this.#onHash.push(then) === 1) this.#host.send(['hash', this.seq]);
  }

  hashed(hash: string): void {
    this.#hash = hash;
    const waiting = this.#onHash;
    this.#onHash = [];
    for (const then of waiting) then(hash);
    this.#check();
  }

  sendTo(taker: ItemTaker, { id, rank }: ItemMeta): void {
    this.#takers.set(taker, id);
    this.#host.send(['send', this.seq, taker.key, id, rank]);
  }

  leave(taker: ItemTaker): void {
    this.#takers.delete(taker);
    this.#check();
  }

  /** The front cannot send it. */
  unsent(engine: number): void {
    for (const [taker, id] of [...this.#takers]) if (taker.key === engine) taker.lost(id);
  }

  /** The front is gone, and with it whatever had not arrived. */
  lost(): void {
    this.#onHash = [];
    for (const [taker, id] of [...this.#takers]) taker.lost(id);
  }

  /** There is an answer, or nobody wants one. */
  settle(): void {
    this.#isSettled = true;
    this.#check();
  }

  #check(): void {
    if (!this.#isSettled || this.#takers.size > 0 || this.#onHash.length > 0) return;
    this.#host.onDone(this);
  }
}
