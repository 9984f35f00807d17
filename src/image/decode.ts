import { ShoalError } from '../errors.js';
import type { ImageInfo } from './info.js';
import { visibleSize } from './info.js';
import { hasMoreScansThan } from './jpeg-scans.js';
import { orient } from './orient.js';
import type { Pixels } from './pixels.js';
import { resizeBilinear } from './resize.js';
import { canDecodeWithTurbo, decodeWithTurbo } from './turbo.js';

/** Up to this factor plain bilinear looks at (nearly) every pixel, and a full decode is faster. */
const MAX_BILINEAR_SHRINK = 2.5;
/**
 * Larger pictures are first brought to this factor with a better filter. The model was trained on
 * photos that plain bilinear shrank by about two, and notices when they are smoother than that: of
 * the factors tried, photos enlarged to 12 MP agree best with their originals at this one.
 */
const LARGE_SHRINK = 2.7;

/** Cameras and editors write ten or so. Each costs a pass over the picture, and a few bytes. */
const MAX_SCANS = 100;

/** Decodes a file into `target`: upright, RGB, stretched to the target's size. */
export async function decodeInto(
  bytes: Buffer,
  info: ImageInfo,
  target: Pixels,
  maxPixels: number,
): Promise<void> {
  if (info.format === 'jpeg') checkScans(bytes);
  if (prefersTurbo(info, target)) {
    const decoded = tryTurbo(bytes, info);
    if (decoded !== undefined) {
      resizeUpright(decoded, info.orientation, target);
      return;
    }
    // Some cameras write files that libjpeg only warns about. libvips tells those from the
    // really damaged ones.
  }
  try {
    // Loaded on first use: many lanes see nothing but ordinary JPEGs.
    const { decodeWithVips } = await import('./vips.js');
    const maxSide = Math.round(Math.max(target.width, target.height) * LARGE_SHRINK);
    resizeUpright(await decodeWithVips(bytes, maxSide, maxPixels), info.orientation, target);
  } catch (cause) {
    throw new ShoalError(
      'invalid_image',
      `The ${info.format.toUpperCase()} data is damaged or cut off and cannot be decoded.`,
      { cause },
    );
  }
}

function checkScans(bytes: Buffer): void {
  if (!hasMoreScansThan(MAX_SCANS, bytes)) return;
  throw new ShoalError(
    'image_too_costly',
    `The JPEG has more than ${String(MAX_SCANS)} scans; save it as baseline JPEG.`,
  );
}

function prefersTurbo(info: ImageInfo, target: Pixels): boolean {
  const { width, height } = visibleSize(info);
  const shrink = Math.max(width / target.width, height / target.height);
  return canDecodeWithTurbo(info) && shrink <= MAX_BILINEAR_SHRINK;
}

function tryTurbo(bytes: Buffer, info: ImageInfo): Pixels | undefined {
  try {
    return decodeWithTurbo(bytes, info);
  } catch {
    return undefined;
  }
}

function resizeUpright(source: Pixels, orientation: number, target: Pixels): void {
  if (orientation === 1) {
    resizeBilinear(source, target);
    return;
  }
  // Shrink first, turn after: the target is the smaller picture.
  const swapped = orientation >= 5;
  const lying = {
    data: new Uint8Array(target.data.length),
    width: swapped ? target.height : target.width,
    height: swapped ? target.width : target.height,
  };
  resizeBilinear(source, lying);
  orient(lying, orientation, target);
}
