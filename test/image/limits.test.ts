import { describe, expect, it } from 'vitest';
import type { ImageInfo } from '../../src/image/info.js';
import { checkImageLimits, estimateDecodeBytes } from '../../src/image/limits.js';
import { expectCode } from '../helpers/errors.js';

const info = (change: Partial<ImageInfo>): ImageInfo => ({
  format: 'jpeg',
  width: 8000,
  height: 8000,
  orientation: 1,
  components: 3,
  depth: 8,
  progressive: false,
  ...change,
});
const limits = { maxPixels: 50e6, maxDecodeBytes: 256 * 2 ** 20 };

describe('checkImageLimits', () => {
  it('refuses too many pixels and says both numbers', () => {
    const detail = expectCode('image_too_large', () => {
      checkImageLimits(info({ width: 64_250, height: 64_250 }), limits);
    });
    expect(detail).toContain('64250×64250');
    expect(detail).toContain('50.0 MP');
  });

  it('refuses a progressive JPEG where the same baseline one passes', () => {
    const size = { width: 7000, height: 7000 };
    checkImageLimits(info(size), limits);
    const detail = expectCode('image_too_costly', () => {
      checkImageLimits(info({ ...size, progressive: true }), limits);
    });
    expect(detail).toContain('progressive');
  });
});

describe('estimateDecodeBytes', () => {
  it('counts a progressive JPEG several times', () => {
    const baseline = estimateDecodeBytes(info({}));
    expect(estimateDecodeBytes(info({ progressive: true }))).toBe(baseline * 3);
  });

  it('counts the depth of a PNG', () => {
    const png = info({ format: 'png', components: 4 });
    expect(estimateDecodeBytes({ ...png, depth: 16 })).toBe(2 * estimateDecodeBytes(png));
  });
});
