const START_OF_SCAN = Buffer.from('ffda', 'hex');
const SOI_LENGTH = 2;
const SOS = 0xda;
const EOI = 0xd9;

/** Whether a decoder would find more scans than this in the picture, whatever else is in the file. */
export function hasMoreScansThan(most: number, bytes: Buffer): boolean {
  // Nearly all files have so few places that look like one that nothing else need be known.
  return countPlaces(bytes, most) > most && countScans(bytes, most) > most;
}

/** Counts what may be a scan, or lie in a segment or behind the picture. Stops above `most`. */
function countPlaces(bytes: Buffer, most: number): number {
  let places = 0;
  let at = bytes.indexOf(START_OF_SCAN);
  while (at >= 0 && places <= most) {
    places++;
    at = bytes.indexOf(START_OF_SCAN, at + START_OF_SCAN.length);
  }
  return places;
}

/** Goes from marker to marker as libjpeg does, so that no scan can be hidden from it. */
function countScans(bytes: Buffer, most: number): number {
  let scans = 0;
  let at = nextMarker(bytes, SOI_LENGTH);
  while (at < bytes.length && scans <= most) {
    const marker = bytes[at + 1] ?? EOI;
    if (marker === EOI) break;
    if (marker === SOS) scans++;
    at = nextMarker(bytes, at + 2 + segmentBytes(bytes, at + 2, marker));
  }
  return scans;
}

/** Zeros are stuffed into the data of a scan; whatever comes before a marker is skipped. */
function nextMarker(bytes: Buffer, from: number): number {
  for (let at = from; at + 1 < bytes.length; at++) {
    if (bytes[at] !== 0xff) continue;
    const next = bytes[at + 1];
    if (next !== 0 && next !== 0xff) return at;
  }
  return bytes.length;
}

/** What other markers claim as theirs is looked at all the same: libjpeg does not skip it. */
function segmentBytes(bytes: Buffer, at: number, marker: number): number {
  const isFrameOrTable = marker >= 0xc0 && marker <= 0xcf;
  const isScanOrTable = marker >= SOS && marker <= 0xdd;
  const isNote = (marker >= 0xe0 && marker <= 0xef) || marker === 0xfe;
  if (!isFrameOrTable && !isScanOrTable && !isNote) return 0;
  // Less than its own two bytes is read as nothing.
  return at + 2 <= bytes.length ? Math.max(2, bytes.readUInt16BE(at)) : 0;
}
