import { WebError } from '../net/problems.js';
import { readPage } from '../net/read-body.js';
import { RemoteFile } from '../net/remote-file.js';
import type { Web } from '../net/web.js';
import type { Wheel } from '../wheels/package-index.js';
import { type Requirement, requirementsIn } from '../wheels/requirement.js';
import { readDirectory, type ZipEntry, ZipError } from '../zip/directory.js';
import { readEntry } from '../zip/extract.js';
import { LocalFile, type RandomAccess } from '../zip/random-access.js';
import { type Content, contentsOf } from './contents.js';

/** What is known of a wheel before it is downloaded. */
export interface InspectedWheel {
  readonly wheel: Wheel;
  readonly requirements: readonly Requirement[];
  readonly downloadBytes: number | undefined;
  /** `undefined` where the server does not let one look into files. */
  readonly contents: readonly Content[] | undefined;
}

const MAX_METADATA_BYTES = 4 * 2 ** 20;

/**
 * Reads the metadata of a wheel: from the file that many indexes have for it (PEP 658), else out of
 * the wheel itself, of which only the last bytes are fetched.
 */
export async function inspectWheel(
  web: Web,
  wheel: Wheel,
  /** Fetches the whole file, for servers that allow nothing less. */
  fetchWhole: (wheel: Wheel) => Promise<string>,
): Promise<InspectedWheel> {
  const separate = wheel.file.hasMetadata ? await separateMetadata(web, wheel) : undefined;
  const remote = await RemoteFile.open(web, wheel.file.url);
  if (remote === undefined && separate !== undefined) {
    const requirements = requirementsOf(wheel, separate);
    return { wheel, requirements, downloadBytes: wheel.file.bytes, contents: undefined };
  }
  if (remote !== undefined) return lookInto(remote, wheel, separate);
  const local = await LocalFile.open(await fetchWhole(wheel));
  try {
    return await lookInto(local, wheel, separate);
  } finally {
    await local.close();
  }
}

async function lookInto(
  source: RandomAccess,
  wheel: Wheel,
  separate: string | undefined,
): Promise<InspectedWheel> {
  try {
    const entries = await readDirectory(source);
    const metadata = separate ?? (await metadataIn(source, entries, wheel));
    return {
      wheel,
      requirements: requirementsOf(wheel, metadata),
      downloadBytes: source.bytes,
      contents: contentsOf(wheel.name, entries),
    };
  } catch (error) {
    if (!(error instanceof ZipError)) throw error;
    throw new ZipError(`${wheel.file.filename} cannot be read: ${error.message}`);
  }
}

/** Nobody needs other packages than NVIDIA's: those are for Python. */
export function requirementsOf({ file }: Wheel, metadata: string): Requirement[] {
  try {
    return requirementsIn(metadata, (name) => name.startsWith('nvidia-'));
  } catch (error) {
    throw new Error(`${file.filename} cannot be used: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function separateMetadata(web: Web, { file }: Wheel): Promise<string | undefined> {
  try {
    return (await readPage(web, `${file.url}.metadata`, '*/*', MAX_METADATA_BYTES)).text;
  } catch (error) {
    // Mirrors announce it as the index does that they copy, and then do not have it or give it away.
    if (error instanceof WebError && isRefusal(error.status)) return undefined;
    throw error;
  }
}

/** Of this one file: without a password, the wheel itself would not be had either. */
function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && ![401, 407, 429].includes(status);
}

export async function metadataIn(
  source: RandomAccess,
  entries: readonly ZipEntry[],
  { file }: Wheel,
): Promise<string> {
  const entry = entries.find(({ name }) => /^[^/]+\.dist-info\/METADATA$/.test(name));
  if (entry === undefined) throw new Error(`${file.filename} has no metadata`);
  return (await readEntry(source, entry, MAX_METADATA_BYTES)).toString('utf8');
}
