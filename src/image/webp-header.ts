import { readExifOrientation } from './exif.js';
import type { ImageInfo } from './info.js';

const FIRST_CHUNK = 12;
/** Beyond this many chunks before an EXIF chunk the picture is taken as upright. */
const MAX_CHUNKS = 1024;

/** Size from the first chunk (VP8, VP8L or VP8X), orientation from an EXIF chunk. */
export function readWebpHeader(bytes: Buffer): ImageInfo | undefined {
  if (bytes.length < FIRST_CHUNK + 18) return undefined;
  const size = readSize(bytes);
  if (size === undefined || size.width === 0 || size.height === 0) return undefined;
  const orientation = findOrientation(bytes);
  return { format: 'webp', ...size, components: 4, depth: 8, progressive: false, orientation };
}

function readSize(bytes: Buffer): { width: number; height: number } | undefined {
  const data = FIRST_CHUNK + 8;
  switch (bytes.toString('latin1', FIRST_CHUNK, FIRST_CHUNK + 4)) {
    case 'VP8X':
      return {
        width: bytes.readUIntLE(data + 4, 3) + 1,
        height: bytes.readUIntLE(data + 7, 3) + 1,
      };
    case 'VP8L': {
      if (bytes[data] !== 0x2f) return undefined;
      const packed = bytes.readUInt32LE(data + 1);
      return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8 ': {
      const hasStartCode = bytes.readUIntBE(data + 3, 3) === 0x9d012a;
      if (!hasStartCode) return undefined;
      return {
        width: bytes.readUInt16LE(data + 6) & 0x3fff,
        height: bytes.readUInt16LE(data + 8) & 0x3fff,
      };
    }
    default:
      return undefined;
  }
}

function findOrientation(bytes: Buffer): number {
  let at = FIRST_CHUNK;
  for (let chunk = 0; chunk < MAX_CHUNKS && at + 8 <= bytes.length; chunk++) {
    const length = bytes.readUInt32LE(at + 4);
    if (bytes.toString('latin1', at, at + 4) === 'EXIF') {
      return readExifOrientation(bytes.subarray(at + 8, at + 8 + length)) ?? 1;
    }
    // Chunks are padded to an even length.
    at += 8 + length + (length % 2);
  }
  return 1;
}
