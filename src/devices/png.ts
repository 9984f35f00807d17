import { crc32, deflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const BITS = 8;
const RGB = 2;

/** A PNG file of made-up pixels. */
export function pngOf(
  width: number,
  height: number,
  pixel: (x: number, y: number) => readonly [red: number, green: number, blue: number],
): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([BITS, RGB], 8);
  // Every row begins with how it is filtered: not at all.
  const rows = Array.from({ length: height }, (_row, y) =>
    Buffer.from([0, ...Array.from({ length: width }, (_column, x) => pixel(x, y)).flat()]),
  );
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(name: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}
