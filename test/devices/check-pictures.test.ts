import { describe, expect, it } from 'vitest';
import { checkPictures } from '../../src/devices/check-pictures.js';
import { pngOf } from '../../src/devices/png.js';
import { decodeInto } from '../../src/image/decode.js';
import { inspectImage } from '../../src/image/inspect.js';

describe('check pictures', () => {
  it('are pictures, the same every time', () => {
    const files = checkPictures().map(({ file }) => Buffer.from(file).toString('base64'));
    expect(files).toHaveLength(3);
    expect(checkPictures().map(({ file }) => Buffer.from(file).toString('base64'))).toEqual(files);
  });

  it('hold the pixels that they were made of', async () => {
    const file = pngOf(5, 4, (x, y) => [x * 10, y * 20, 7]);
    const data = new Uint8Array(5 * 4 * 3);
    await decodeInto(file, inspectImage(file), { data, width: 5, height: 4 }, 1000);
    expect([...data.subarray(0, 6)]).toEqual([0, 0, 7, 10, 0, 7]);
    expect([...data.subarray(-3)]).toEqual([40, 60, 7]);
  });
});
