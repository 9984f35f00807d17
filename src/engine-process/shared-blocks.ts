/** Each block begins with a flag: whether it is in use. */
const BLOCK_HEAD_BYTES = 8;
const SMALLEST_BYTES = 64 * 1024;
/** Up to this size they are kept for good: there are no more than were in use at once. */
const MAX_SMALL_BYTES = 2 ** 20;
/** Larger ones are rare and would only lie around. */
const MAX_KEPT_BYTES = 128 * 2 ** 20;
/** What large blocks may hold in any case, or else this many times what was in use lately. */
const MIN_LARGE_BYTES = 32 * 2 ** 20;
const SPARE = 2;
/** How much of the most that was in use still counts after each one that is taken. */
const FADING = 0.98;

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
  /** Those given out longest ago come first. */
  #large: Block[] = [];
  #mostInUse = 0;
  #count = 0;

  /**
   * @param onNew told of every block before it is used, and of an empty one with the number of
   *   each that is given up, which takes its place
   */
  constructor(onNew: (block: Block) => void) {
    this.#onNew = onNew;
  }

  take(bytes: number): Block {
    const size = Math.max(SMALLEST_BYTES, 2 ** Math.ceil(Math.log2(bytes)));
    if (size > MAX_KEPT_BYTES) return this.#create(bytes);
    return size > MAX_SMALL_BYTES ? this.#takeLarge(size) : this.#takeSmall(size);
  }

  #takeSmall(size: number): Block {
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

  /** Made anew each time, they would pile up: the collector does not see how much memory they hold. */
  #takeLarge(size: number): Block {
    const length = BLOCK_HEAD_BYTES + size;
    const at = this.#large.findIndex(
      ({ buffer, flag }) =>
        buffer.byteLength === length && Atomics.compareExchange(flag, 0, 0, 1) === 0,
    );
    const block = this.#large[at] ?? this.#create(size);
    if (at >= 0) this.#large.splice(at, 1);
    this.#large.push(block);
    this.#trim();
    return block;
  }

  /** Gives up free blocks beyond what is likely to be needed. */
  #trim(): void {
    const inUse = this.#large.filter(({ flag }) => Atomics.load(flag, 0) === 1);
    this.#mostInUse = Math.max(bytesOf(inUse), this.#mostInUse * FADING);
    const limit = Math.max(MIN_LARGE_BYTES, SPARE * this.#mostInUse);
    let excess = bytesOf(this.#large) - limit;
    this.#large = this.#large.filter((block) => {
      if (excess <= 0 || inUse.includes(block)) return true;
      excess -= block.buffer.byteLength;
      this.#onNew(newBlock(block.number, 0));
      return false;
    });
  }

  #create(bytes: number): Block {
    const block = newBlock(this.#count++, bytes);
    block.flag[0] = 1;
    this.#onNew(block);
    return block;
  }
}

function newBlock(number: number, bytes: number): Block {
  const buffer = new SharedArrayBuffer(BLOCK_HEAD_BYTES + bytes);
  return { number, buffer, flag: new Int32Array(buffer, 0, 1) };
}

function bytesOf(blocks: readonly Block[]): number {
  return blocks.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
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
