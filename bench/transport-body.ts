/** A marker whose segment decoders skip: "reserved for application use". */
const APP15 = 0xef;
const START_OF_SCAN = Buffer.from('ffda', 'hex');
const MAX_SEGMENT = 65_533;
const MARKER_BYTES = 4;

/**
 * A small JPEG brought to the size of a photo by segments that decoders skip: as many bytes to
 * carry, and next to nothing to decode. The filling is no text, no zeros and no markers. It follows
 * the header, which is in the first bytes of a photo, too.
 */
export function padJpeg(jpeg: Buffer, size: number): Buffer {
  const scan = jpeg.indexOf(START_OF_SCAN);
  const parts = [jpeg.subarray(0, scan)];
  for (let missing = size - jpeg.length; missing > MARKER_BYTES;) {
    const length = Math.min(missing - MARKER_BYTES, MAX_SEGMENT);
    const head = Buffer.from([0xff, APP15, 0, 0]);
    head.writeUInt16BE(length + 2, 2);
    parts.push(
      head,
      Buffer.from(Uint8Array.from({ length }, (_, at) => (at * 7919 + (at >> 8) * 31) % 255)),
    );
    missing -= length + MARKER_BYTES;
  }
  return Buffer.concat([...parts, jpeg.subarray(scan)]);
}
