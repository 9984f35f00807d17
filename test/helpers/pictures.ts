import { crc32, deflateSync } from 'node:zlib';
import sharp, { type Sharp } from 'sharp';

export type Colour = readonly [red: number, green: number, blue: number];

/** A picture of one colour, as PNG. Written by hand: thousands of them are made. */
export function solidPng(colour: Colour, width = 255, height = 255): Promise<Buffer> {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // Eight bits each of red, green and blue.
  head.set([8, 2], 8);
  // Every row begins with how it is filtered: not at all.
  const row = Buffer.alloc(1 + 3 * width);
  row.fill(Buffer.from(colour), 1);
  const pixels = Buffer.alloc(row.length * height, row);
  return Promise.resolve(
    Buffer.concat([
      Buffer.from('89504e470d0a1a0a', 'hex'),
      chunk('IHDR', head),
      chunk('IDAT', deflateSync(pixels)),
      chunk('IEND', Buffer.alloc(0)),
    ]),
  );
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

export const RED: Colour = [255, 0, 0];
export const GREEN: Colour = [0, 255, 0];
export const BLUE: Colour = [0, 0, 255];
export const WHITE: Colour = [255, 255, 255];

/** Red, green, blue and white quarters: top left, top right, bottom left, bottom right. */
export function quarters(width: number, height: number): Sharp {
  const data = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const row = y < height / 2 ? [RED, GREEN] : [BLUE, WHITE];
      data.set(row[x < width / 2 ? 0 : 1] ?? WHITE, (y * width + x) * 3);
    }
  }
  return sharp(data, { raw: { width, height, channels: 3 } });
}
