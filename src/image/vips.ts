import sharp from 'sharp';
import type { Pixels } from './pixels.js';

/** The only place that touches libvips. */
sharp.cache(false);
sharp.concurrency(1);

/**
 * The other decoders of libvips (SVG, TIFF, GIF, AVIF, …) have a long history of memory corruption,
 * so all are blocked and three are let back in. That holds for the whole process and its threads,
 * and in between nothing opens in any of them: so it is done once, before pictures come.
 * @throws when it does not work in this build of libvips
 */
export async function blockLoaders(): Promise<void> {
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({
    operation: [
      'VipsForeignLoadJpegBuffer',
      'VipsForeignLoadPngBuffer',
      'VipsForeignLoadWebpBuffer',
    ],
  });
  await assertLoadersBlocked();
}

/**
 * Decodes a picture as it is stored, on white where it is transparent, and no larger than a square
 * of `maxSide`. Turning it is left to us: two readers of EXIF would disagree about odd files. A JPEG is shrunk while it is decoded, the rest with a filter that looks at every
 * pixel, so that even a large photo does not alias.
 */
export async function decodeWithVips(
  bytes: Buffer,
  maxSide: number,
  maxPixels: number,
): Promise<Pixels> {
  const { data, info } = await sharp(bytes, {
    failOn: 'error',
    limitInputPixels: maxPixels,
    pages: 1,
  })
    .resize(maxSide, maxSide, { fit: 'inside', withoutEnlargement: true })
    .flatten({ background: '#ffffff' })
    .toColourspace('srgb')
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
}

/** Proves that the block works: what must open opens, and what must not does not. */
export async function assertLoadersBlocked(): Promise<void> {
  for (const [format, base64] of Object.entries(ALLOWED)) {
    await sharp(Buffer.from(base64, 'base64'))
      .raw()
      .toBuffer()
      .catch((cause: unknown) => {
        throw new Error(`libvips cannot read ${format}`, { cause });
      });
  }
  for (const [format, base64] of Object.entries(BLOCKED)) {
    const opened = await sharp(Buffer.from(base64, 'base64'))
      .metadata()
      .then(
        () => true,
        () => false,
      );
    if (opened) throw new Error(`libvips reads ${format} although it is blocked`);
  }
}

/** One white pixel each. */
const ALLOWED = {
  JPEG: '/9j/2wBDAP//////////////////////////////////////////////////////////////////////////////////////2wBDAf//////////////////////////////////////////////////////////////////////////////////////wAARCAABAAEDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAP/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAAAP/EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhEDEQA/AKAA/9k=',
  PNG: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAADElEQVQImWP4//8/AAX+Av5Y8msOAAAAAElFTkSuQmCC',
  WebP: 'UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAUAmJaQAA3AA/vz0AAA=',
};
const BLOCKED = {
  GIF: 'R0lGODlhAQABAIAAAExpcf///yH5BAUAAAAALAAAAAABAAEAAAICTAEAOw==',
  SVG: 'PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHdpZHRoPSIxIiBoZWlnaHQ9IjEiLz4=',
  TIFF: 'SUkqAAwAAAD///8ADwAAAQMAAQAAAAEAAAABAQMAAQAAAAEAAAACAQMAAwAAANYAAAADAQMAAQAAAAEAAAAGAQMAAQAAAAIAAAARAQQAAQAAAAgAAAASAQMAAQAAAAEAAAAVAQMAAQAAAAMAAAAWAQMAAQAAAAABAAAXAQQAAQAAAAMAAAAaAQUAAQAAAMYAAAAbAQUAAQAAAM4AAAAcAQMAAQAAAAEAAAAoAQMAAQAAAAIAAABTAQMAAwAAANwAAAAAAAAAMzPLAAAACAAzM8sAAAAIAAgACAAIAAEAAQABAA==',
};
