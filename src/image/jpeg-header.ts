import { readExifOrientation } from './exif.js';
import type { ImageInfo } from './info.js';

const SOI_LENGTH = 2;
const APP1 = 0xe1;
const SOS = 0xda;
const EOI = 0xd9;
/** Where a scan header says how many components it has, counted from its marker. */
const SOS_COMPONENTS = 4;
/** A camera writes about ten; a file made of nothing else must not keep the event loop busy. */
const MAX_SEGMENTS = 1024;
/** Of all of them together; the same holds for a file made of these. */
const MAX_FILL_BYTES = 64 * 1024;

/** Walks the marker segments up to the first scan. `undefined` when there is none, or no frame. */
export function readJpegHeader(bytes: Buffer): ImageInfo | undefined {
  let orientation = 1;
  let frame: ImageInfo | undefined;
  let at = SOI_LENGTH;
  let fillBytes = 0;
  for (let segment = 0; segment < MAX_SEGMENTS && at + 4 <= bytes.length; segment++) {
    if (bytes[at] !== 0xff) return undefined;
    // Any number of fill bytes may stand before a marker; not so many that it takes long.
    while (bytes[at + 1] === 0xff && fillBytes++ < MAX_FILL_BYTES) at++;
    const marker = bytes[at + 1] ?? 0;
    if (marker === 0xff || at + 4 > bytes.length) return undefined;
    // A stuffed zero belongs into a scan; decoders skip it, and what follows would be hidden here.
    if (marker === 0) return undefined;
    if (hasNoSegment(marker)) {
      at += 2;
      continue;
    }
    if (marker === EOI) return undefined;
    if (marker === SOS) return frame && inFull(frame, bytes[at + SOS_COMPONENTS]);
    const length = bytes.readUInt16BE(at + 2);
    if (length < 2) return undefined;
    if (isFrameHeader(marker)) {
      frame ??= readFrameHeader(bytes, at + 4, marker, orientation);
      if (frame === undefined) return undefined;
    } else if (marker === APP1 && frame === undefined) {
      orientation = readExifOrientation(bytes.subarray(at + 4, at + 2 + length)) ?? orientation;
    }
    at += 2 + length;
  }
  return undefined;
}

/**
 * A picture that comes one colour after the other is put together at the end, as a progressive one
 * is, and decoding it takes as much.
 */
function inFull(frame: ImageInfo, inFirstScan: number | undefined): ImageInfo | undefined {
  if (inFirstScan === undefined) return undefined;
  return inFirstScan < frame.components ? { ...frame, progressive: true } : frame;
}

/** TEM and the restart markers stand alone. */
function hasNoSegment(marker: number): boolean {
  return marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7);
}

/** SOF0 to SOF15 without DHT (c4), JPG (c8) and DAC (cc), which share the range. */
function isFrameHeader(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
}

function readFrameHeader(
  bytes: Buffer,
  at: number,
  marker: number,
  orientation: number,
): ImageInfo | undefined {
  if (at + 6 > bytes.length) return undefined;
  const [width, height] = [bytes.readUInt16BE(at + 3), bytes.readUInt16BE(at + 1)];
  // A height of zero would be given after the first scan, which nobody does.
  if (width === 0 || height === 0) return undefined;
  return {
    format: 'jpeg',
    depth: bytes[at] ?? 0,
    width,
    height,
    components: bytes[at + 5] ?? 0,
    // SOF2, 6, 10 and 14 are the progressive ones.
    progressive: (marker & 0x03) === 0x02,
    orientation,
  };
}
