import sharp, { type Sharp } from 'sharp';

export type Colour = readonly [red: number, green: number, blue: number];

/** A picture of one colour, as PNG. */
export function solidPng([r, g, b]: Colour, width = 255, height = 255): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background: { r, g, b } } })
    .png()
    .toBuffer();
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
