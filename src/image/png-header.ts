import { readExifOrientation } from './exif.js';
import type { ImageInfo } from './info.js';

const SIGNATURE_LENGTH = 8;
/** Beyond this many chunks before an eXIf chunk the picture is taken as upright. */
const MAX_CHUNKS = 1024;
/** Components by PNG colour type; a palette entry becomes three colours and maybe alpha. */
const COMPONENTS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 4, 4: 2, 6: 4 };

/** IHDR is always first; an eXIf chunk may follow anywhere before the end. */
export function readPngHeader(bytes: Buffer): ImageInfo | undefined {
  const at = SIGNATURE_LENGTH;
  if (bytes.length < at + 25 || bytes.toString('latin1', at + 4, at + 8) !== 'IHDR')
    return undefined;
  const components = COMPONENTS[bytes[at + 17] ?? -1];
  const [width, height] = [bytes.readUInt32BE(at + 8), bytes.readUInt32BE(at + 12)];
  if (components === undefined || width === 0 || height === 0) return undefined;
  return {
    format: 'png',
    width,
    height,
    depth: bytes[at + 16] ?? 0,
    components,
    progressive: bytes[at + 20] === 1,
    orientation: findOrientation(bytes),
  };
}

function findOrientation(bytes: Buffer): number {
  let at = SIGNATURE_LENGTH;
  for (let chunk = 0; chunk < MAX_CHUNKS && at + 8 <= bytes.length; chunk++) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString('latin1', at + 4, at + 8);
    if (type === 'eXIf') return readExifOrientation(bytes.subarray(at + 8, at + 8 + length)) ?? 1;
    if (type === 'IEND') return 1;
    at += 12 + length;
  }
  return 1;
}
