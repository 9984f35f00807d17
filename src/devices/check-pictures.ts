import { existsSync, readFileSync } from 'node:fs';
import type { ImageInfo } from '../image/info.js';
import { inspectImage } from '../image/inspect.js';
import { pngOf } from './png.js';

/** A picture of which it is known, or can be asked, what a model finds in it. */
export interface CheckPicture {
  readonly file: Uint8Array;
  readonly image: ImageInfo;
}

const PHOTO = new URL('../../examples/coffee.jpg', import.meta.url);
const SIZE = 256;

/** A photo where there is one, noise and a gradient: something to find, and hardly anything. */
export function checkPictures(): CheckPicture[] {
  const files = [
    ...(existsSync(PHOTO) ? [readFileSync(PHOTO)] : []),
    pngOf(SIZE, SIZE, noise()),
    pngOf(SIZE, SIZE, (x, y) => [x, y, (x + y) >> 1]),
  ];
  return files.map((file) => ({ file, image: inspectImage(file) }));
}

/** The same every time. */
function noise(): () => [number, number, number] {
  let state = 1;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >>> 24;
  };
  return () => [next(), next(), next()];
}
