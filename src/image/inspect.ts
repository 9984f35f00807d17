import { ShoalError } from '../errors.js';
import type { ImageInfo } from './info.js';
import { joinForNow } from './join-for-now.js';
import { readJpegHeader } from './jpeg-header.js';
import { readPngHeader } from './png-header.js';
import { readWebpHeader } from './webp-header.js';

/**
 * Reads format, size and orientation from the first bytes of a file. The format is decided by
 * magic bytes alone: names and content types are claims of the client.
 */
export function inspectImage(bytes: Buffer): ImageInfo {
  if (bytes.length === 0) throw new ShoalError('empty_body', 'The image has no bytes.');
  const reader = READERS.find(({ magic }) => magic(bytes));
  if (reader === undefined) throw unsupported(bytes);
  const info = reader.read(bytes);
  if (info === undefined) {
    throw new ShoalError('invalid_image', `The ${reader.name} header is damaged or cut off.`);
  }
  return info;
}

/**
 * The same for a file that arrived in pieces. The header of a JPEG is nearly always in the first;
 * other formats may say how to turn the picture only at their end.
 */
export function inspectPieces(pieces: readonly Buffer[]): ImageInfo {
  const [first = Buffer.alloc(0)] = pieces;
  if (pieces.length > 1 && first.length >= 3 && READERS[0].magic(first)) {
    const info = readJpegHeader(first);
    if (info !== undefined) return info;
  }
  return inspectImage(joinForNow(pieces));
}

const READERS = [
  {
    name: 'JPEG',
    magic: (b: Buffer): boolean => b[0] === 0xff && b[1] === 0xd8 && b[2] === 0xff,
    read: readJpegHeader,
  },
  {
    name: 'PNG',
    magic: (b: Buffer): boolean => b.toString('latin1', 0, 8) === '\x89PNG\r\n\x1a\n',
    read: readPngHeader,
  },
  {
    name: 'WebP',
    magic: (b: Buffer): boolean =>
      b.toString('latin1', 0, 4) === 'RIFF' && b.toString('latin1', 8, 12) === 'WEBP',
    read: readWebpHeader,
  },
] as const;

/** Formats that people do send, so that the answer can name what arrived. */
const KNOWN_BUT_REFUSED: readonly (readonly [string, RegExp])[] = [
  ['GIF', /^GIF8/],
  ['AVIF or HEIC', /^.{4}ftyp/s],
  ['TIFF', /^(II\*\0|MM\0\*)/],
  ['BMP', /^BM/],
  ['PDF', /^%PDF/],
  ['SVG or XML', /^(\xef\xbb\xbf)?\s*<(\?xml|svg|!DOCTYPE)/i],
  ['base64 text (post it as JSON in image_b64)', /^(data:|\/9j\/|iVBORw0KGgo|UklGR)/],
];

function unsupported(bytes: Buffer): ShoalError {
  const start = bytes.toString('latin1', 0, 64);
  const known = KNOWN_BUT_REFUSED.find(([, pattern]) => pattern.test(start));
  const found = known ? `This looks like ${known[0]}.` : 'The first bytes match no known format.';
  return new ShoalError('unsupported_image_format', `${found} Send JPEG, PNG or WebP.`);
}
