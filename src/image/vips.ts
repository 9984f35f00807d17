import sharp from 'sharp';

/**
 * The only place that touches libvips. Its other decoders (SVG, TIFF, GIF, AVIF, …) have a long
 * history of memory corruption, so all are blocked and three are let back in. The block holds for
 * the whole process, whichever thread asks for it.
 */
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer'],
});
sharp.cache(false);
sharp.concurrency(1);

/** Sees a picture upright, on white where it is transparent, in exactly this size. */
export async function decodeWithVips(
  bytes: Buffer,
  width: number,
  height: number,
  maxPixels: number,
): Promise<Buffer> {
  return (
    sharp(bytes, { failOn: 'error', limitInputPixels: maxPixels, pages: 1 })
      .autoOrient()
      // 'linear' is a triangle filter that averages all pixels it covers, and a JPEG is shrunk
      // while decoding, so even a large photo does not alias.
      .resize(width, height, { fit: 'fill', kernel: 'linear' })
      .flatten({ background: '#ffffff' })
      .toColourspace('srgb')
      .raw({ depth: 'uchar' })
      .toBuffer()
  );
}

/**
 * Proves that the block works in this build of libvips: what must open opens, and what must not
 * does not. Run once when an engine starts.
 */
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
  PNG: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAADElEQVQImWP4//8/AAX+Av5Y8msOAAAAAElFTkSuQmCC',
  WebP: 'UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAUAmJaQAA3AA/vz0AAA=',
};
const BLOCKED = {
  GIF: 'R0lGODlhAQABAIAAAExpcf///yH5BAUAAAAALAAAAAABAAEAAAICTAEAOw==',
  SVG: 'PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHdpZHRoPSIxIiBoZWlnaHQ9IjEiLz4=',
  TIFF: 'SUkqAAwAAAD///8ADwAAAQMAAQAAAAEAAAABAQMAAQAAAAEAAAACAQMAAwAAANYAAAADAQMAAQAAAAEAAAAGAQMAAQAAAAIAAAARAQQAAQAAAAgAAAASAQMAAQAAAAEAAAAVAQMAAQAAAAMAAAAWAQMAAQAAAAABAAAXAQQAAQAAAAMAAAAaAQUAAQAAAMYAAAAbAQUAAQAAAM4AAAAcAQMAAQAAAAEAAAAoAQMAAQAAAAIAAABTAQMAAwAAANwAAAAAAAAAMzPLAAAACAAzM8sAAAAIAAgACAAIAAEAAQABAA==',
};
