import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createInflateRaw, crc32 } from 'node:zlib';
import { type ZipEntry, ZipError } from './directory.js';
import type { RandomAccess } from './random-access.js';

const LOCAL_HEADER = 0x04034b50;
const LOCAL_HEADER_BYTES = 30;
const PIECE_BYTES = 2 ** 20;
const STORED = 0;
const DEFLATED = 8;

/** Writes one file of an archive, piece by piece, and to the disk before it returns. */
export async function extractTo(
  source: RandomAccess,
  entry: ZipEntry,
  path: string,
  onBytes: (bytes: number) => void = () => undefined,
): Promise<void> {
  const file = await open(path, 'w', 0o644);
  try {
    for await (const piece of contentOf(source, entry)) {
      await file.appendFile(piece);
      onBytes(piece.length);
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A small file of an archive. */
export async function readEntry(
  source: RandomAccess,
  entry: ZipEntry,
  maxBytes: number,
): Promise<Buffer> {
  if (entry.bytes > maxBytes || entry.compressedBytes > maxBytes) {
    throw new ZipError(`${entry.name} is too large`);
  }
  const pieces: Buffer[] = [];
  for await (const piece of contentOf(source, entry)) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Ends with an error when size or checksum are not as the directory says. */
async function* contentOf(source: RandomAccess, entry: ZipEntry): AsyncGenerator<Buffer> {
  let bytes = 0;
  let checksum = 0;
  try {
    for await (const piece of await unpacked(source, entry)) {
      bytes += piece.length;
      // At once: a few bytes can be made to unpack into more than any disk holds.
      if (bytes > entry.bytes) throw new ZipError(`${entry.name} is larger than announced`);
      checksum = crc32(piece, checksum);
      yield piece;
    }
  } catch (error) {
    if (error instanceof ZipError || !isZlibError(error)) throw error;
    throw new ZipError(`${entry.name} is damaged`);
  }
  if (bytes !== entry.bytes || checksum !== entry.crc32) {
    throw new ZipError(`${entry.name} is damaged`);
  }
}

async function unpacked(source: RandomAccess, entry: ZipEntry): Promise<AsyncIterable<Buffer>> {
  const raw = piecesOf(source, await dataOffset(source, entry), entry.compressedBytes);
  if (entry.method === STORED) return raw;
  if (entry.method !== DEFLATED) throw new ZipError(`${entry.name} is packed in an unknown way`);
  const inflate = createInflateRaw({ chunkSize: PIECE_BYTES });
  const input = Readable.from(raw);
  // An error while reading must end the unpacking, too.
  input.on('error', (error) => inflate.destroy(error));
  return input.pipe(inflate);
}

async function dataOffset(source: RandomAccess, entry: ZipEntry): Promise<number> {
  const { headerOffset, compressedBytes, name } = entry;
  const outside = new ZipError(`${name} lies outside of the archive`);
  if (headerOffset + LOCAL_HEADER_BYTES > source.bytes) throw outside;
  const header = await source.read(headerOffset, LOCAL_HEADER_BYTES);
  if (header.readUInt32LE(0) !== LOCAL_HEADER) throw new ZipError(`${name} is damaged`);
  const offset =
    headerOffset + LOCAL_HEADER_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28);
  if (offset + compressedBytes > source.bytes) throw outside;
  return offset;
}

async function* piecesOf(
  source: RandomAccess,
  offset: number,
  length: number,
): AsyncGenerator<Buffer> {
  for (let at = 0; at < length; at += PIECE_BYTES) {
    yield await source.read(offset + at, Math.min(PIECE_BYTES, length - at));
  }
}

function isZlibError(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' && code.startsWith('Z_');
}
