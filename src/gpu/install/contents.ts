import { basename } from 'node:path';
import { type ZipEntry, ZipError } from '../zip/directory.js';

export const RUNTIME_WHEEL = 'onnxruntime-gpu';

/** A file of a wheel that is unpacked, and where to. */
export interface Content {
  readonly entry: ZipEntry;
  readonly folder: 'runtime' | 'nvidia' | 'licences';
  readonly target: string;
}

/** Several times what the largest of these wheels holds. */
const MAX_BYTES = 16 * 2 ** 30;
const MAX_LICENCE_BYTES = 8 * 2 ** 20;
const LICENCE = /^(licen[cs]e|notice|copying|thirdpartynotices|third_party)/i;

/** Of all that is in a wheel, the shared libraries and the licences: the rest is for Python. */
export function contentsOf(name: string, entries: readonly ZipEntry[]): Content[] {
  const contents = entries.flatMap((entry) => placeFor(name, entry));
  const targets = new Set(contents.map(({ folder, target }) => `${folder}/${target}`));
  const bytes = contents.reduce((sum, { entry }) => sum + entry.bytes, 0);
  if (targets.size < contents.length) throw new ZipError(`${name} has a library twice`);
  if (bytes > MAX_BYTES) throw new ZipError(`${name} claims to be ${String(bytes)} bytes`);
  if (libraryNames(contents).length === 0) throw new ZipError(`${name} has no libraries`);
  return contents;
}

export function libraryNames(contents: readonly Content[]): string[] {
  return contents.filter(({ folder }) => folder !== 'licences').map(({ target }) => target);
}

export function unpackedBytes(contents: readonly Content[]): number {
  return contents.reduce((sum, { entry }) => sum + entry.bytes, 0);
}

function placeFor(name: string, entry: ZipEntry): Content[] {
  const file = basename(entry.name);
  if (name === RUNTIME_WHEEL) {
    // The runtime itself comes from the Node.js package, which differs from Python's.
    const isProvider = /^onnxruntime\/capi\/libonnxruntime_providers_\w+\.so$/.test(entry.name);
    if (isProvider) return [{ entry, folder: 'runtime', target: file }];
  } else if (/(^|\/)lib\/lib[^/]+\.so(\.\d+)*$/.test(entry.name)) {
    return [{ entry, folder: 'nvidia', target: file }];
  }
  if (!LICENCE.test(file) || entry.bytes > MAX_LICENCE_BYTES) return [];
  return [{ entry, folder: 'licences', target: entry.name.replaceAll('/', '-') }];
}
