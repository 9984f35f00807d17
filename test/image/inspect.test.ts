import fc from 'fast-check';
import type { Sharp } from 'sharp';
import { describe, expect, it } from 'vitest';
import { ShoalError } from '../../src/errors.js';
import { visibleSize } from '../../src/image/info.js';
import { inspectImage, inspectPieces } from '../../src/image/inspect.js';
import { expectCode } from '../helpers/errors.js';
import { quarters } from '../helpers/pictures.js';

const picture = (): Sharp => quarters(60, 40);

describe('inspectImage', () => {
  it('reads size and kind of a JPEG', async () => {
    const info = inspectImage(await picture().jpeg().toBuffer());
    expect(info).toMatchObject({ format: 'jpeg', width: 60, height: 40, components: 3, depth: 8 });
    expect(info.progressive).toBe(false);
    expect(info.orientation).toBe(1);
  });

  it('tells a progressive JPEG from a baseline one', async () => {
    const bytes = await picture().jpeg({ progressive: true }).toBuffer();
    expect(inspectImage(bytes).progressive).toBe(true);
  });

  it('takes a JPEG that comes one colour after the other for as costly as a progressive one', async () => {
    const bytes = await picture().jpeg().toBuffer();
    const scan = bytes.indexOf(Buffer.from('ffda', 'hex'));
    expect(bytes[scan + 4]).toBe(3);
    bytes[scan + 4] = 1;
    expect(inspectImage(bytes).progressive).toBe(true);
    // Wherever it was cut into pieces.
    expect(inspectPieces([bytes.subarray(0, scan), bytes.subarray(scan)]).progressive).toBe(true);
    expectCode('invalid_image', () => inspectImage(bytes.subarray(0, scan)));
  });

  it('counts the components of grey and CMYK JPEGs', async () => {
    const grey = await picture().toColourspace('b-w').jpeg().toBuffer();
    const cmyk = await picture().toColourspace('cmyk').jpeg().toBuffer();
    expect(inspectImage(grey).components).toBe(1);
    expect(inspectImage(cmyk).components).toBe(4);
  });

  it('reads PNG, with depth and interlacing', async () => {
    const plain = inspectImage(await picture().png().toBuffer());
    expect(plain).toMatchObject({ format: 'png', width: 60, height: 40, progressive: false });
    const deep = await picture().toColourspace('rgb16').png({ progressive: true }).toBuffer();
    expect(inspectImage(deep)).toMatchObject({ depth: 16, progressive: true });
  });

  it.each([
    ['lossy', {}],
    ['lossless', { lossless: true }],
  ])('reads %s WebP', async (_name, options) => {
    const info = inspectImage(await picture().webp(options).toBuffer());
    expect(info).toMatchObject({ format: 'webp', width: 60, height: 40 });
  });

  it('reads extended WebP with alpha', async () => {
    const bytes = await picture()
      .ensureAlpha(0.5)
      .withMetadata({ orientation: 6 })
      .webp()
      .toBuffer();
    expect(inspectImage(bytes)).toMatchObject({ width: 60, height: 40, orientation: 6 });
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('reads EXIF orientation %i from each format', async (value) => {
    for (const format of ['jpeg', 'png', 'webp'] as const) {
      const bytes = await picture()
        .withMetadata({ orientation: value })
        .toFormat(format)
        .toBuffer();
      const info = inspectImage(bytes);
      expect(info.orientation, format).toBe(value);
      expect(visibleSize(info).width, format).toBe(value >= 5 ? 40 : 60);
    }
  });

  it('names the format that it refuses', async () => {
    const gif = await picture().gif().toBuffer();
    const tiff = await picture().tiff().toBuffer();
    const avif = await picture().avif().toBuffer();
    expect(expectCode('unsupported_image_format', () => inspectImage(gif))).toContain('GIF');
    expect(expectCode('unsupported_image_format', () => inspectImage(tiff))).toContain('TIFF');
    expect(expectCode('unsupported_image_format', () => inspectImage(avif))).toContain('AVIF');
    for (const [text, name] of [
      ['<svg xmlns="http://www.w3.org/2000/svg"/>', 'SVG'],
      ['%PDF-1.7', 'PDF'],
      ['/9j/4AAQSkZJRg==', 'base64'],
      ['PK\x03\x04', 'no known'],
    ] as const) {
      const detail = expectCode('unsupported_image_format', () => inspectImage(Buffer.from(text)));
      expect(detail).toContain(name);
    }
  });

  it('refuses an empty file and a header that is cut off', async () => {
    expectCode('empty_body', () => inspectImage(Buffer.alloc(0)));
    for (const format of ['jpeg', 'png', 'webp'] as const) {
      const bytes = await picture().toFormat(format).toBuffer();
      expectCode('invalid_image', () => inspectImage(bytes.subarray(0, 20)));
    }
  });

  it('gives an answer or a ShoalError for any bytes behind a magic number', () => {
    const magics = ['ffd8ff', '89504e470d0a1a0a', '52494646ffffffff57454250'];
    fc.assert(
      fc.property(fc.constantFrom(...magics), fc.uint8Array({ maxLength: 300 }), (magic, tail) => {
        try {
          inspectImage(Buffer.concat([Buffer.from(magic, 'hex'), tail]));
        } catch (error) {
          expect(error).toBeInstanceOf(ShoalError);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('does not walk through millions of empty segments', () => {
    const segments = Buffer.concat([
      Buffer.from('ffd8', 'hex'),
      Buffer.alloc(8_000_000, Buffer.from('fffe0002', 'hex')),
    ]);
    expectCode('invalid_image', () => inspectImage(segments));
  });

  it('passes over fill bytes before a marker, but not over millions of them', async () => {
    const bytes = await picture().jpeg().toBuffer();
    const padded = (count: number): Buffer =>
      Buffer.concat([bytes.subarray(0, 2), Buffer.alloc(count, 0xff), bytes.subarray(2)]);
    expect(inspectImage(padded(2000))).toEqual(inspectImage(bytes));
    expectCode('invalid_image', () => inspectImage(padded(8_000_000)));
    expectCode('invalid_image', () => inspectImage(padded(2000).subarray(0, 2002)));
  });
});

describe('inspectPieces', () => {
  it('gives the same answer however the file is cut', async () => {
    for (const format of ['jpeg', 'png', 'webp'] as const) {
      const bytes = await picture().withMetadata({ orientation: 8 }).toFormat(format).toBuffer();
      const whole = inspectImage(bytes);
      for (const at of [1, 2, 5, 30, 100, bytes.length - 1]) {
        const pieces = [bytes.subarray(0, at), bytes.subarray(at)];
        expect(inspectPieces(pieces), `${format} cut at ${String(at)}`).toEqual(whole);
      }
    }
  });
});
