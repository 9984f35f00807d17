import { parseHead, type ResponseHead } from './response-head.js';

const MAX_HEAD_BYTES = 64 * 1024;
const NEW_LINE = 10;

/** Where in a chunked body the reader stands; `data` counts its bytes down. */
type ChunkState = 'size' | 'data' | 'trailer';

/**
 * Finds the end of answers, one after another, however they are cut. Bodies are skipped unread.
 * It keeps nothing of what it is given, so a buffer may be reused.
 */
export class ResponseReader {
  #headText = '';
  #head: ResponseHead | undefined;
  #bodyLeft = 0;
  #chunkState: ChunkState = 'size';
  #line = '';

  /**
   * The head of an answer once it is complete, `undefined` while more is to come, and 'malformed'
   * when it is not HTTP or there is more than the one answer that was asked for.
   */
  push(bytes: Buffer): ResponseHead | 'malformed' | undefined {
    let at = 0;
    while (this.#head === undefined) {
      const bodyAt = this.#readHead(bytes, at);
      if (typeof bodyAt !== 'number') return bodyAt;
      at = bodyAt;
    }
    const end = this.#head.isChunked ? this.#skipChunks(bytes, at) : this.#skipBody(bytes, at);
    if (end === undefined) return undefined;
    if (end !== bytes.length) return 'malformed';
    return this.#finish();
  }

  /** The connection has ended; some bodies say by that that they are complete. */
  end(): ResponseHead | undefined {
    const head = this.#head;
    if (head?.contentLength !== undefined || head?.isChunked === true) return undefined;
    return this.#finish();
  }

  /** Where the body begins, once the head is whole. */
  #readHead(bytes: Buffer, from: number): number | 'malformed' | undefined {
    const before = this.#headText.length;
    this.#headText += bytes.toString('latin1', from);
    // The empty line may have begun in the bytes before.
    const end = this.#headText.indexOf('\r\n\r\n', Math.max(0, before - 3));
    if (end < 0) return this.#headText.length > MAX_HEAD_BYTES ? 'malformed' : undefined;
    const head = parseHead(this.#headText.slice(0, end));
    const bodyAt = from + end + 4 - before;
    this.#headText = '';
    if (head === undefined) return 'malformed';
    // 100 and 103 come before the answer proper.
    if (head.status >= 200) {
      this.#head = head;
      this.#bodyLeft = head.contentLength ?? Number.POSITIVE_INFINITY;
      this.#chunkState = 'size';
    }
    return bodyAt;
  }

  #skipBody(bytes: Buffer, from: number): number | undefined {
    const skipped = Math.min(this.#bodyLeft, bytes.length - from);
    this.#bodyLeft -= skipped;
    return this.#bodyLeft === 0 ? from + skipped : undefined;
  }

  #skipChunks(bytes: Buffer, from: number): number | undefined {
    let at = from;
    while (at < bytes.length) {
      if (this.#chunkState === 'data') {
        const rest = this.#skipBody(bytes, at);
        if (rest === undefined) return undefined;
        at = rest;
        this.#chunkState = 'size';
        continue;
      }
      const lineEnd = bytes.indexOf(NEW_LINE, at);
      this.#line += bytes.toString('latin1', at, lineEnd < 0 ? bytes.length : lineEnd);
      if (lineEnd < 0) return undefined;
      at = lineEnd + 1;
      const line = this.#line.trimEnd();
      this.#line = '';
      if (this.#chunkState === 'trailer') {
        if (line === '') return at;
      } else {
        const size = Number.parseInt(line, 16);
        // What cannot be read as a size ends nothing; the client will give up on it.
        this.#bodyLeft = Number.isNaN(size) ? Number.POSITIVE_INFINITY : size + 2;
        this.#chunkState = size === 0 ? 'trailer' : 'data';
      }
    }
    return undefined;
  }

  #finish(): ResponseHead | undefined {
    const head = this.#head;
    this.#head = undefined;
    return head;
  }
}
