import { readFileSync } from 'node:fs';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { decodeInto } from '../../src/image/decode.js';
import { inspectImage } from '../../src/image/inspect.js';
import { expectRejection } from '../helpers/errors.js';
import { BLUE, type Colour, GREEN, quarters, RED, WHITE } from '../helpers/pictures.js';

const SIZE = 32;

async function decode(bytes: Buffer, width = SIZE, height = SIZE): Promise<Uint8Array> {
  const data = new Uint8Array(width * height * 3);
  await decodeInto(bytes, inspectImage(bytes), { data, width, height }, 1e9);
  return data;
}

/** The colour in the middle of each quarter, in reading order. */
function corners(data: Uint8Array, width = SIZE, height = SIZE): Colour[] {
  return [0.25, 0.75].flatMap((y) =>
    [0.25, 0.75].map((x): Colour => {
      const at = (Math.floor(y * height) * width + Math.floor(x * width)) * 3;
      return [data[at] ?? -1, data[at + 1] ?? -1, data[at + 2] ?? -1];
    }),
  );
}

function expectColours(actual: readonly Colour[], expected: readonly Colour[], off = 12): void {
  actual.forEach((colour, index) => {
    colour.forEach((value, channel) => {
      const wanted = expected[index]?.[channel] ?? -1;
      expect(Math.abs(value - wanted), `quarter ${String(index)}: ${colour.join()}`).toBeLessThan(
        off,
      );
    });
  });
}

const UPRIGHT = [RED, GREEN, BLUE, WHITE];

describe('decodeInto', () => {
  it.each(['jpeg', 'png', 'webp'] as const)('decodes %s', async (format) => {
    expectColours(
      corners(await decode(await quarters(64, 48).toFormat(format).toBuffer())),
      UPRIGHT,
    );
  });

  it('shrinks a large JPEG while decoding it', async () => {
    const bytes = await quarters(1200, 900).jpeg().toBuffer();
    expectColours(corners(await decode(bytes)), UPRIGHT);
  });

  it('stretches to a target that is not square', async () => {
    const data = await decode(await quarters(64, 48).jpeg().toBuffer(), 40, 20);
    expectColours(corners(data, 40, 20), UPRIGHT);
  });

  /** Where the upright quarters lie in a file that says it must be turned like this. */
  const stored: Readonly<Record<number, readonly Colour[]>> = {
    1: [RED, GREEN, BLUE, WHITE],
    2: [GREEN, RED, WHITE, BLUE],
    3: [WHITE, BLUE, GREEN, RED],
    4: [BLUE, WHITE, RED, GREEN],
    5: [RED, BLUE, GREEN, WHITE],
    6: [BLUE, RED, WHITE, GREEN],
    7: [WHITE, GREEN, BLUE, RED],
    8: [GREEN, WHITE, RED, BLUE],
  };
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('turns orientation %i upright', async (orientation) => {
    for (const [width, height] of [
      [64, 48], // libjpeg-turbo and our own turning
      [640, 480], // libvips
    ] as const) {
      for (const format of ['jpeg', 'png', 'webp'] as const) {
        const picture = quarters(width, height).withMetadata({ orientation });
        const data = await decode(await picture.toFormat(format).toBuffer());
        expectColours(corners(data), stored[orientation] ?? [], 20);
      }
    }
  });

  it('decodes grey JPEG', async () => {
    const bytes = await quarters(64, 48).toColourspace('b-w').jpeg().toBuffer();
    const [red] = corners(await decode(bytes));
    expect(red?.[0]).toBe(red?.[1]);
    expect(red?.[1]).toBe(red?.[2]);
  });

  it('decodes CMYK JPEG to about the right colours', async () => {
    const bytes = await quarters(64, 48).toColourspace('cmyk').jpeg({ quality: 100 }).toBuffer();
    const [red, green, blue, white] = corners(await decode(bytes));
    expect(red?.[0]).toBeGreaterThan(180);
    expect(red?.[1]).toBeLessThan(90);
    expect(green?.[1]).toBeGreaterThan(green?.[0] ?? 255);
    expect(blue?.[2]).toBeGreaterThan(blue?.[0] ?? 255);
    expect(Math.min(...(white ?? [0]))).toBeGreaterThan(240);
  });

  it('decodes 16-bit PNG', async () => {
    const bytes = await quarters(64, 48).toColourspace('rgb16').png().toBuffer();
    expectColours(corners(await decode(bytes)), UPRIGHT);
  });

  it('puts transparency on white, with 8 and with 16 bits', async () => {
    const clear = { r: 0, g: 0, b: 0, alpha: 0 };
    const picture = sharp({ create: { width: 64, height: 48, channels: 4, background: clear } });
    for (const bytes of [
      await picture.clone().png().toBuffer(),
      await picture.clone().toColourspace('rgb16').png().toBuffer(),
      await picture.clone().webp({ lossless: true }).toBuffer(),
    ]) {
      expectColours(corners(await decode(bytes)), [WHITE, WHITE, WHITE, WHITE]);
    }
  });

  it('refuses files that are cut off or damaged', async () => {
    const photo = readFileSync('examples/coffee.jpg');
    for (const format of ['jpeg', 'png', 'webp'] as const) {
      const whole = await sharp(photo).toFormat(format).toBuffer();
      for (const part of [0.3, 0.6, 0.9]) {
        const cut = whole.subarray(0, Math.floor(whole.length * part));
        const detail = await expectRejection('invalid_image', decode(cut, 300, 300));
        expect(detail).toContain(format.toUpperCase());
      }
    }
  });

  it('refuses a JPEG that is made of scans, before it decodes them', async () => {
    const bytes = await quarters(64, 48).jpeg({ progressive: true }).toBuffer();
    const scan = bytes.subarray(bytes.indexOf(Buffer.from('ffda', 'hex')), -2);
    const bomb = Buffer.concat([
      bytes.subarray(0, -2),
      ...Array.from({ length: 200 }, () => scan),
      bytes.subarray(-2),
    ]);
    expect(await expectRejection('image_too_costly', decode(bomb))).toContain('scans');
  });

  it('counts no scan in what a camera puts into segments or behind the picture', async () => {
    const bytes = await quarters(64, 48).jpeg().toBuffer();
    const looksLikeScans = Buffer.alloc(60_000, Buffer.from('ffda', 'hex'));
    const note = Buffer.from('ffe20000', 'hex');
    note.writeUInt16BE(2 + looksLikeScans.length, 2);
    const start = bytes.subarray(0, 2);
    const photo = Buffer.concat([start, note, looksLikeScans, bytes.subarray(2), looksLikeScans]);
    expectColours(corners(await decode(photo)), UPRIGHT);
  });

  it.each([
    ['fill bytes', 'ffffffff'],
    ['a restart marker', 'ffd3'],
    ['a marker that has no segment', 'ff01ffff'],
    ['a marker that nobody knows', 'ff40ffff'],
    ['a segment without a length', 'fffe0000'],
    ['junk', '00ff00123456'],
  ])('finds scans behind %s', async (_, hidden) => {
    const bytes = await quarters(64, 48).jpeg({ progressive: true }).toBuffer();
    const scan = bytes.subarray(bytes.indexOf(Buffer.from('ffda', 'hex')), -2);
    const scans = Array.from({ length: 100 }, () => [Buffer.from(hidden, 'hex'), scan]).flat();
    const bomb = Buffer.concat([bytes.subarray(0, -2), ...scans, bytes.subarray(-2)]);
    expect(await expectRejection('image_too_costly', decode(bomb))).toContain('scans');
  });

  it('turns a picture as its header says, on either path, whatever libvips thinks of it', async () => {
    // An eXIf chunk behind the pixels is legal, and some readers do not look there.
    const turned = await quarters(64, 48).withMetadata({ orientation: 6 }).png().toBuffer();
    const exif = turned.indexOf('eXIf') - 4;
    const length = turned.readUInt32BE(exif) + 12;
    const chunk = turned.subarray(exif, exif + length);
    const end = turned.indexOf('IEND') - 4;
    const moved = Buffer.concat([
      turned.subarray(0, exif),
      turned.subarray(exif + length, end),
      chunk,
      turned.subarray(end),
    ]);
    expect(inspectImage(moved).orientation).toBe(6);
    expectColours(corners(await decode(moved)), stored[6] ?? []);
  });

  it('accepts what libjpeg only warns about', async () => {
    const bytes = await quarters(64, 48).jpeg().toBuffer();
    const withJunk = Buffer.concat([bytes.subarray(0, -2), Buffer.alloc(7), bytes.subarray(-2)]);
    expectColours(corners(await decode(withJunk)), UPRIGHT);
  });

  it('gives nearly the same pixels for a small photo and the same one enlarged', async () => {
    const photo = readFileSync('examples/coffee.jpg');
    const large = await sharp(photo).resize(3000, 2000, { kernel: 'cubic' }).jpeg().toBuffer();
    const [a, b] = [await decode(photo, 300, 300), await decode(large, 300, 300)];
    const mean = a.reduce((sum, value, at) => sum + Math.abs(value - (b[at] ?? 0)), 0) / a.length;
    expect(mean).toBeLessThan(6);
  });
});
