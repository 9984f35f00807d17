import { shownUrl } from './address.js';
import { WebError } from './problems.js';
import type { Web } from './web.js';

/** Some servers pack what they were asked not to. Lengths and ranges are then not those of the file. */
export function isPacked({ headers }: Response): boolean {
  return !['', 'identity'].includes(headers.get('content-encoding')?.toLowerCase() ?? '');
}

/** The whole answer in memory, up to a limit. */
export async function readBody(
  response: Response,
  maxBytes: number,
  alive: () => void,
): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    alive();
    bytes += piece.length;
    if (bytes > maxBytes)
      throw new Error(`${shownUrl(response.url)} is far longer than it should be`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

export interface Page {
  readonly text: string;
  readonly contentType: string;
  /** After all redirects. */
  readonly url: string;
}

/** @throws WebError for every answer but 200 */
export async function readPage(
  web: Web,
  url: string,
  accept: string,
  maxBytes: number,
): Promise<Page> {
  return web.get({
    url,
    headers: () => ({ accept }),
    use: async (response, alive) => {
      if (response.status !== 200) throw new WebError(response.status, url);
      const contentType = response.headers.get('content-type') ?? '';
      const text = (await readBody(response, maxBytes, alive)).toString('utf8');
      return { text, contentType, url: response.url };
    },
  });
}
