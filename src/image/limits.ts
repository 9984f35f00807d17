import { ShoalError } from '../errors.js';
import type { ImageInfo } from './info.js';

export interface ImageLimits {
  readonly maxPixels: number;
  readonly maxDecodeBytes: number;
}

/** Refuses an image from its header alone, before a byte of it is decoded. */
export function checkImageLimits(info: ImageInfo, limits: ImageLimits): void {
  const pixels = info.width * info.height;
  if (pixels > limits.maxPixels) {
    throw new ShoalError(
      'image_too_large',
      `The image is ${String(info.width)}×${String(info.height)} (${megapixels(pixels)} MP); ` +
        `at most ${megapixels(limits.maxPixels)} MP are accepted.`,
    );
  }
  const bytes = estimateDecodeBytes(info);
  if (bytes > limits.maxDecodeBytes) {
    throw new ShoalError(
      'image_too_costly',
      `Decoding this ${info.progressive ? 'progressive ' : ''}image would take about ` +
        `${mebibytes(bytes)} MiB; at most ${mebibytes(limits.maxDecodeBytes)} MiB are allowed.`,
    );
  }
}

/**
 * About how much memory decoding takes at its peak. A baseline JPEG costs its RGB pixels. A
 * progressive one, and one in several scans, also holds every coefficient as 16 bits. PNG and WebP
 * cost their own pixels; libvips streams them, but interlaced PNG and WebP are unpacked whole.
 */
export function estimateDecodeBytes(info: ImageInfo): number {
  const pixels = info.width * info.height;
  const stored = pixels * info.components * Math.max(1, info.depth / 8);
  if (info.format !== 'jpeg') return stored;
  return pixels * 3 + (info.progressive ? pixels * info.components * 2 : 0);
}

function megapixels(pixels: number): string {
  return (pixels / 1e6).toFixed(1);
}

function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0);
}
