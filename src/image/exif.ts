const EXIF_MAGIC = 'Exif\0\0';
const ORIENTATION_TAG = 0x0112;
const SHORT = 3;

/**
 * The orientation (1 to 8) in an EXIF block, or `undefined` when it has none that makes sense.
 * The block is input like any other: every offset is checked.
 */
export function readExifOrientation(block: Buffer): number | undefined {
  const hasMagic = block.toString('latin1', 0, EXIF_MAGIC.length) === EXIF_MAGIC;
  const tiff = hasMagic ? block.subarray(EXIF_MAGIC.length) : block;
  const order = tiff.toString('latin1', 0, 4);
  if (tiff.length < 8 || (order !== 'II*\0' && order !== 'MM\0*')) return undefined;
  const little = order.startsWith('I');
  const u16 = (at: number): number => (little ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));

  const directory = little ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  if (directory + 2 > tiff.length) return undefined;
  const entries = u16(directory);
  for (let index = 0; index < entries; index++) {
    const entry = directory + 2 + index * 12;
    if (entry + 12 > tiff.length) return undefined;
    if (u16(entry) !== ORIENTATION_TAG) continue;
    const value = u16(entry + 8);
    return u16(entry + 2) === SHORT && value >= 1 && value <= 8 ? value : undefined;
  }
  return undefined;
}
