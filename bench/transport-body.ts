/**
 * A small JPEG brought to the size of a photo by bytes behind its end, which decoders skip: as much
 * to carry, and next to nothing to decode. The filling is no text, no zeros and no markers.
 */
export function padJpeg(jpeg: Buffer, size: number): Buffer {
  const length = Math.max(0, size - jpeg.length);
  const filling = Uint8Array.from({ length }, (_, at) => (at * 7919 + (at >> 8) * 31) % 255);
  return Buffer.concat([jpeg, filling]);
}
