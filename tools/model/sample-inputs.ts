import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import jpegTurbo from '@julusian/jpeg-turbo';

/** Model inputs that need no resizing, so that only the graph itself is compared. */
export const SAMPLE_INPUTS: readonly {
  readonly name: string;
  readonly pixels: () => Uint8Array;
}[] = [
  { name: 'coffee', pixels: () => cropExample('coffee.jpg') },
  { name: 'cat', pixels: () => cropExample('cat.jpg') },
  { name: 'pattern', pixels: pattern },
];

const SIZE = 300;

/** The middle 300×300 pixels of an example photo. */
function cropExample(file: string): Uint8Array {
  const path = fileURLToPath(new URL(`../../examples/${file}`, import.meta.url));
  const { data, width, height } = jpegTurbo.decompressSync(readFileSync(path), {
    format: jpegTurbo.FORMAT_RGB,
  });
  const left = (width - SIZE) >> 1;
  const top = (height - SIZE) >> 1;
  const rows = Array.from({ length: SIZE }, (_, row) => {
    const from = ((top + row) * width + left) * 3;
    return data.subarray(from, from + SIZE * 3);
  });
  return Buffer.concat(rows);
}

/** Every byte value, in no order that the model has seen. */
function pattern(): Uint8Array {
  return Uint8Array.from(
    { length: SIZE * SIZE * 3 },
    (_, at) => (at * 7919 + (at >> 8) * 31) % 256,
  );
}
