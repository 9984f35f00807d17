import { type FileHandle, open, rm } from 'node:fs/promises';
import { hashFile } from '../../planning/machine.js';
import { shownUrl } from './address.js';
import { PassingError, WebError } from './problems.js';
import { isPacked } from './read-body.js';
import type { Web } from './web.js';

export interface Download {
  readonly url: string;
  readonly sha256: string;
  /** Where the index or the server has said so. */
  readonly bytes: number | undefined;
  /** Kept when it breaks off, so that the next attempt goes on from there. */
  readonly partPath: string;
  readonly onProgress: (bytes: number) => void;
}

/** No wheel is larger. */
const MAX_BYTES = 8 * 2 ** 30;

/**
 * Fetches a file, or the rest of it. Afterwards it lies at `partPath` and has the right hash; a
 * file that has another is removed.
 */
export async function download(web: Web, wanted: Download): Promise<void> {
  const had = await fetchInto(web, wanted);
  if ((await hashFile(wanted.partPath)) === wanted.sha256) return;
  await rm(wanted.partPath);
  if (had > 0) {
    // What was there before may have been the damaged part.
    await fetchInto(web, wanted);
    if ((await hashFile(wanted.partPath)) === wanted.sha256) return;
    await rm(wanted.partPath);
  }
  const name = new URL(wanted.url).pathname.split('/').at(-1) ?? '';
  throw new Error(`${name} is not what the index announces: its SHA-256 is another`);
}

/** @returns how much was there already */
async function fetchInto(web: Web, wanted: Download): Promise<number> {
  const file = await open(wanted.partPath, 'a');
  try {
    const { size: had } = await file.stat();
    await fetchRest(web, wanted, file, had);
    return had;
  } finally {
    await file.close();
  }
}

async function fetchRest(
  web: Web,
  { url, bytes: announced, onProgress }: Download,
  file: FileHandle,
  had: number,
): Promise<void> {
  let at = had;
  let whole = announced;
  onProgress(at);
  if (at === whole) return;
  await web.get({
    url,
    headers: (): Record<string, string> => (at > 0 ? { range: `bytes=${String(at)}-` } : {}),
    progress: () => at,
    use: async (response, alive) => {
      const { start, total } = placeOf(response, at, url);
      if (start !== at) {
        // The server does not know ranges, or what was there is none of it.
        await file.truncate(0);
        at = 0;
      }
      if (start === undefined) throw new PassingError('starts over');
      whole = total ?? whole;
      for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
        alive();
        if (at + piece.length > (whole ?? MAX_BYTES)) {
          throw new Error(`${shownUrl(url)} is longer than the index announces`);
        }
        await file.appendFile(piece);
        at += piece.length;
        onProgress(at);
      }
      if (whole !== undefined && at < whole) throw new PassingError('cut off');
    },
  });
}

/** Where in the file an answer begins; nowhere when what was asked for is not there. */
function placeOf(
  response: Response,
  at: number,
  url: string,
): { start: number | undefined; total: number | undefined } {
  const { status, headers } = response;
  if (status === 200) {
    const length = isPacked(response) ? null : headers.get('content-length');
    return { start: 0, total: length === null ? undefined : Number(length) };
  }
  if (status === 416 && at > 0) return { start: undefined, total: undefined };
  const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers.get('content-range') ?? '');
  if (status !== 206) throw new WebError(status, url);
  const [, start, total] = range ?? [];
  // Of a packed file it is a part of what is packed.
  if (Number(start) !== at || isPacked(response)) return { start: undefined, total: undefined };
  return { start: at, total: total === '*' ? undefined : Number(total) };
}
