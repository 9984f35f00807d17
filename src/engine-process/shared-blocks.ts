/** Each block begins with a flag: whether it is in use. */
const BLOCK_HEAD_BYTES = 8;
const SMALLEST_BYTES = 64 * 1024;
/** Larger ones are rare and would only lie around. */
const MAX_KEPT_BYTES = 2 ** 20;

export interface Block {
  readonly number: number;
  readonly buffer: SharedArrayBuffer;
  readonly flag: Int32Array;
}

/**
 * Shared memory that one thread fills and another gives back by clearing a flag, which costs no
 * message. Blocks are kept in sizes of powers of two; the one that was given out longest ago is
 * tried first, since it is the likeliest to be free.
 */
export class SharedBlocks {
  readonly #onNew: (block: Block) => void;
  readonly #sizes = new Map<number, { readonly blocks: Block[]; next: number }>();
  #count = 0;

  /** @param onNew told of every block before it is used */
  constructor(onNew: (block: Block) => void) {
    this.#onNew = onNew;
  }

  take(bytes: number): Block {
    const size = Math.max(SMALLEST_BYTES, 2 ** Math.ceil(Math.log2(bytes)));
    if (size > MAX_KEPT_BYTES) return this.#create(bytes);
    let ring = this.#sizes.get(size);
    if (ring === undefined) {
      ring = { blocks: [], next: 0 };
      this.#sizes.set(size, ring);
    }
    const { blocks } = ring;
    let left = blocks.length;
    while (left-- > 0) {
      const block = blocks[ring.next] as Block;
      ring.next = (ring.next + 1) % blocks.length;
      if (Atomics.compareExchange(block.flag, 0, 0, 1) === 0) return block;
    }
    const fresh = this.#create(size);
    blocks.splice(ring.next, 0, fresh);
    ring.next = (ring.next + 1) % blocks.length;
    return fresh;
  }

  #create(bytes: number): Block {
    const buffer = new SharedArrayBuffer(BLOCK_HEAD_BYTES + bytes);
    const flag = new Int32Array(buffer, 0, 1);
    flag[0] = 1;
    const block = { number: this.#count++, buffer, flag };
    this.#onNew(block);
    return block;
  }
}

/** Whether it comes again; if not, nobody need remember it. */
export function isKept({ byteLength }: SharedArrayBuffer): boolean {
  return byteLength <= BLOCK_HEAD_BYTES + MAX_KEPT_BYTES;
}

export function viewOf(buffer: SharedArrayBuffer, bytes: number): Uint8Array {
  return new Uint8Array(buffer, BLOCK_HEAD_BYTES, bytes);
}

/** Whoever held it must not touch it afterwards. */
export function giveBack(buffer: SharedArrayBuffer): void {
  Atomics.store(new Int32Array(buffer, 0, 1), 0, 0);
}
