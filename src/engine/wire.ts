/**
 * The protocol between the HTTP process and an engine, used by both sides.
 *
 * A frame is a fixed header, a small JSON part and a binary part:
 *
 *     0        4        8    9    12            12+meta              12+meta+body
 *     ├ meta ──┼─ body ─┼type┼ 0 ─┼── JSON ──────┼── raw bytes ───────┤
 *       length   length
 *
 * Only compressed images use the binary part; they are never turned into text or cloned.
 */

/** Both sides are built together, but a stale build must be noticed, not guessed at. */
export const WIRE_VERSION = 3;

export const FRAME = {
  /** engine → server: the first frame, with the version. */
  hello: 1,
  /** server → engine: which model to load, and how. */
  configure: 2,
  /** engine → server: warmed up, from now on items are taken. */
  ready: 3,
  /** engine → server: the model cannot be loaded; the engine exits. */
  failed: 4,
  /** server → engine: one item, with the image as body. */
  item: 5,
  /** server → engine: the answer to this item is no longer wanted. */
  cancel: 6,
  /** engine → server: what became of the items of one batch (or of one that never ran). */
  results: 7,
  /** server → engine and back: the engine's main thread is alive. */
  ping: 8,
  pong: 9,
  /** server → engine: measure a batch size; only while no items are inside. */
  measure: 10,
  /** engine → server: the result of that. */
  measured: 11,
  /** engine → server: images that hang; the engine ends itself. */
  stuck: 12,
  /** server → engine: where to connect to for items, besides this socket. */
  intake: 13,
  /** Between the server and a front: a list of messages. */
  messages: 14,
} as const;
export type FrameType = (typeof FRAME)[keyof typeof FRAME];

const HEADER_BYTES = 12;
/** Far above what is sent; a length beyond it means that the stream is out of step. */
const MAX_META_BYTES = 16 * 2 ** 20;
const MAX_BODY_BYTES = 2 ** 30;

export interface Frame {
  readonly type: number;
  readonly meta: unknown;
  readonly body: Uint8Array;
}

/** Header and JSON part; the body, if any, is written behind it as it is. */
export function encodeFrameHead(type: FrameType, meta: unknown, bodyLength = 0): Buffer {
  return encodeFrameText(type, meta === undefined ? '' : JSON.stringify(meta), bodyLength);
}

/** The same for a JSON part that is text already. */
export function encodeFrameText(type: FrameType, json: string, bodyLength = 0): Buffer {
  const metaLength = Buffer.byteLength(json);
  const head = Buffer.allocUnsafe(HEADER_BYTES + metaLength);
  head.writeUInt32LE(metaLength, 0);
  head.writeUInt32LE(bodyLength, 4);
  head.writeUInt32LE(type, 8);
  head.write(json, HEADER_BYTES, 'utf8');
  return head;
}

/**
 * Puts frames together from chunks of any size. Bodies are copied straight into the memory that
 * `allocate` returns, so the reader decides where they live.
 */
export class FrameReader {
  readonly #onFrame: (frame: Frame) => void;
  readonly #allocate: (bytes: number) => Uint8Array;
  readonly #parse: (meta: Uint8Array) => unknown;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  /** How much of the part being read has arrived. */
  #filled = 0;
  #stage: 'header' | 'meta' | 'body' = 'header';
  #type = 0;
  #meta: Uint8Array = EMPTY;
  #body: Uint8Array = EMPTY;

  constructor(
    onFrame: (frame: Frame) => void,
    allocate: (bytes: number) => Uint8Array = (bytes) => Buffer.allocUnsafe(bytes),
    parse: (meta: Uint8Array) => unknown = parseMeta,
  ) {
    this.#onFrame = onFrame;
    this.#allocate = allocate;
    this.#parse = parse;
  }

  push(chunk: Uint8Array): void {
    let at = 0;
    for (;;) {
      const part = this.#part();
      const take = Math.min(part.length - this.#filled, chunk.length - at);
      part.set(chunk.subarray(at, at + take), this.#filled);
      this.#filled += take;
      at += take;
      if (this.#filled < part.length) return;
      this.#filled = 0;
      this.#finishPart();
      if (at === chunk.length && this.#part().length > 0) return;
    }
  }

  /** What is missing of a body. It may be filled from its beginning, to be told with `filled`. */
  get room(): Uint8Array | undefined {
    return this.#stage === 'body' ? this.#body.subarray(this.#filled) : undefined;
  }

  filled(bytes: number): void {
    this.#filled += bytes;
    if (this.#filled < this.#body.length) return;
    this.#filled = 0;
    this.#finishPart();
  }

  #part(): Uint8Array {
    if (this.#stage === 'header') return this.#header;
    return this.#stage === 'meta' ? this.#meta : this.#body;
  }

  #finishPart(): void {
    if (this.#stage === 'header') {
      const metaLength = this.#header.readUInt32LE(0);
      const bodyLength = this.#header.readUInt32LE(4);
      if (metaLength > MAX_META_BYTES || bodyLength > MAX_BODY_BYTES) {
        throw new Error('wire: a frame is longer than any that is ever sent');
      }
      this.#type = this.#header.readUInt32LE(8);
      this.#meta = metaLength === 0 ? EMPTY : Buffer.allocUnsafe(metaLength);
      this.#body = bodyLength === 0 ? EMPTY : this.#allocate(bodyLength);
      this.#stage = 'meta';
    } else if (this.#stage === 'meta') {
      this.#stage = 'body';
    } else {
      const frame = { type: this.#type, meta: this.#parse(this.#meta), body: this.#body };
      this.#stage = 'header';
      this.#meta = EMPTY;
      this.#body = EMPTY;
      this.#onFrame(frame);
    }
  }
}

const EMPTY = new Uint8Array(0);

function parseMeta(bytes: Uint8Array): unknown {
  return bytes.length === 0 ? undefined : JSON.parse(metaText(bytes));
}

export function metaText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}
