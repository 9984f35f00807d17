import type { RandomAccess } from './random-access.js';

/** One file in an archive, as the directory at its end says. Nothing of it is trusted. */
export interface ZipEntry {
  readonly name: string;
  readonly method: number;
  readonly crc32: number;
  readonly compressedBytes: number;
  readonly bytes: number;
  readonly headerOffset: number;
}

export class ZipError extends Error {}

const END = 0x06054b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const ENTRY = 0x02014b50;
const END_BYTES = 22;
const LOCATOR_BYTES = 20;
const ENTRY_BYTES = 46;
/** A comment at the end can be as long as this. */
const MAX_COMMENT = 0xffff;
/** Far above what any wheel has; below what would fill the memory. */
const MAX_DIRECTORY_BYTES = 32 * 2 ** 20;
const SYMBOLIC_LINK = 0o12;

/** All files in an archive, in the order of its directory. */
export async function readDirectory(source: RandomAccess): Promise<ZipEntry[]> {
  const tailBytes = Math.min(source.bytes, END_BYTES + MAX_COMMENT + LOCATOR_BYTES);
  const tailStart = source.bytes - tailBytes;
  const tail = await source.read(tailStart, tailBytes);
  const at = findEnd(tail);
  const { count, bytes, offset } =
    (await readEnd64(source, tail, at)) ??
    ({
      count: tail.readUInt16LE(at + 10),
      bytes: tail.readUInt32LE(at + 12),
      offset: tail.readUInt32LE(at + 16),
    } as const);
  if (bytes > MAX_DIRECTORY_BYTES || offset + bytes > tailStart + at) {
    throw new ZipError('its directory does not fit into it');
  }
  const directory =
    offset >= tailStart
      ? tail.subarray(offset - tailStart, offset - tailStart + bytes)
      : await source.read(offset, bytes);
  return parseEntries(directory, count);
}

function findEnd(tail: Buffer): number {
  for (let at = tail.length - END_BYTES; at >= 0; at--) {
    if (tail.readUInt32LE(at) !== END) continue;
    if (at + END_BYTES + tail.readUInt16LE(at + 20) === tail.length) return at;
  }
  throw new ZipError('it has no end; it is cut off or no zip archive');
}

/** Where the archive is too large for the fields of old. */
async function readEnd64(
  source: RandomAccess,
  tail: Buffer,
  end: number,
): Promise<{ count: number; bytes: number; offset: number } | undefined> {
  const at = end - LOCATOR_BYTES;
  if (at < 0 || tail.readUInt32LE(at) !== LOCATOR_64) return undefined;
  const recordOffset = safe(tail.readBigUInt64LE(at + 8));
  if (recordOffset + 56 > source.bytes) throw new ZipError('its end lies outside of it');
  const record = await source.read(recordOffset, 56);
  if (record.readUInt32LE(0) !== END_64) throw new ZipError('its end is damaged');
  return {
    count: safe(record.readBigUInt64LE(32)),
    bytes: safe(record.readBigUInt64LE(40)),
    offset: safe(record.readBigUInt64LE(48)),
  };
}

function parseEntries(directory: Buffer, count: number): ZipEntry[] {
  const entries: ZipEntry[] = [];
  let at = 0;
  while (at < directory.length) {
    if (at + ENTRY_BYTES > directory.length || directory.readUInt32LE(at) !== ENTRY) {
      throw new ZipError('its directory is damaged');
    }
    const nameBytes = directory.readUInt16LE(at + 28);
    const extraBytes = directory.readUInt16LE(at + 30);
    const next = at + ENTRY_BYTES + nameBytes + extraBytes + directory.readUInt16LE(at + 32);
    if (next > directory.length) throw new ZipError('its directory is damaged');
    entries.push(parseEntry(directory.subarray(at, next), nameBytes, extraBytes));
    at = next;
  }
  if (entries.length !== count) throw new ZipError('its directory is incomplete');
  return entries;
}

function parseEntry(head: Buffer, nameBytes: number, extraBytes: number): ZipEntry {
  const name = head.toString('utf8', ENTRY_BYTES, ENTRY_BYTES + nameBytes);
  const extra = head.subarray(ENTRY_BYTES + nameBytes, ENTRY_BYTES + nameBytes + extraBytes);
  const isEncrypted = (head.readUInt16LE(8) & 1) !== 0;
  const isLink = head.readUInt32LE(38) >>> 28 === SYMBOLIC_LINK;
  if (isEncrypted || isLink || !isSafeName(name)) {
    throw new ZipError(`it has a file that no wheel has: ${JSON.stringify(name)}`);
  }
  const [bytes = 0, compressedBytes = 0, headerOffset = 0] = widen(extra, [
    head.readUInt32LE(24),
    head.readUInt32LE(20),
    head.readUInt32LE(42),
  ]);
  const [method, crc32] = [head.readUInt16LE(10), head.readUInt32LE(16)];
  return { name, method, crc32, compressedBytes, bytes, headerOffset };
}

/** No way out of the folder that it is unpacked into, on any system. */
export function isSafeName(name: string): boolean {
  // eslint-disable-next-line no-control-regex -- these are what is looked for
  if (name === '' || name.startsWith('/') || /[\\:\u0000-\u001f]/.test(name)) return false;
  return !name.split('/').some((part) => part === '..' || part === '.');
}

/** Values that do not fit into 32 bits stand in an extra field, in this order. */
function widen(extra: Buffer, values: readonly number[]): number[] {
  let at = 0;
  let field = Buffer.alloc(0);
  while (at + 4 <= extra.length) {
    const end = at + 4 + extra.readUInt16LE(at + 2);
    if (extra.readUInt16LE(at) === 1) field = Buffer.from(extra.subarray(at + 4, end));
    at = end;
  }
  let used = 0;
  return values.map((value) => {
    if (value !== 0xffffffff) return value;
    if (used + 8 > field.length) throw new ZipError('its directory is damaged');
    used += 8;
    return safe(field.readBigUInt64LE(used - 8));
  });
}

function safe(value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new ZipError('it claims to be too large');
  return Number(value);
}
