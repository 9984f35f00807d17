import type { RandomAccess } from '../zip/random-access.js';
import { PassingError, WebError } from './problems.js';
import { isPacked, readBody } from './read-body.js';
import type { Web } from './web.js';

/** Enough for the end of a wheel with its whole directory. */
const TAIL_BYTES = 256 * 2 ** 10;

/** A file on a server that knows ranges: a few of its bytes can be had without the rest. */
export class RemoteFile implements RandomAccess {
  readonly bytes: number;
  readonly #web: Web;
  readonly #url: string;
  readonly #tail: Buffer;

  private constructor(web: Web, url: string, bytes: number, tail: Buffer) {
    this.#web = web;
    this.#url = url;
    this.bytes = bytes;
    this.#tail = tail;
  }

  /** @returns `undefined` when the server does not know ranges */
  static async open(web: Web, url: string): Promise<RemoteFile | undefined> {
    return web.get({
      url,
      headers: () => ({ range: `bytes=-${String(TAIL_BYTES)}` }),
      use: async (response, alive) => {
        if (response.status === 200 || response.status === 416) return undefined;
        if (response.status !== 206) throw new WebError(response.status, url);
        if (isPacked(response)) return undefined;
        const range = response.headers.get('content-range') ?? '';
        const [, start, total] = /^bytes (\d+)-\d+\/(\d+)$/.exec(range) ?? [];
        if (start === undefined || total === undefined) return undefined;
        const tail = await readBody(response, TAIL_BYTES, alive);
        if (Number(start) + tail.length !== Number(total)) throw new PassingError('cut off');
        return new RemoteFile(web, url, Number(total), tail);
      },
    });
  }

  async read(offset: number, length: number): Promise<Buffer> {
    const tailStart = this.bytes - this.#tail.length;
    if (offset >= tailStart) {
      return this.#tail.subarray(offset - tailStart, offset - tailStart + length);
    }
    if (length === 0) return Buffer.alloc(0);
    return this.#web.get({
      url: this.#url,
      headers: () => ({ range: `bytes=${String(offset)}-${String(offset + length - 1)}` }),
      use: async (response, alive) => {
        if (response.status !== 206) throw new WebError(response.status, this.#url);
        const piece = await readBody(response, length, alive);
        if (piece.length !== length) throw new PassingError('cut off');
        return piece;
      },
    });
  }
}
