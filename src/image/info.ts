/** What the header of an image file says, read without decoding it. */
export interface ImageInfo {
  readonly format: 'jpeg' | 'png' | 'webp';
  /** Pixels as stored in the file, before EXIF orientation. */
  readonly width: number;
  readonly height: number;
  /** EXIF orientation, 1 (upright) to 8; 5 to 8 swap width and height. */
  readonly orientation: number;
  /** Colour components per pixel. JPEG: 1 grey, 3 colour, 4 CMYK or YCCK. */
  readonly components: number;
  /** Bits per component. */
  readonly depth: number;
  /** Progressive JPEG or interlaced PNG: the decoder must hold the whole picture. */
  readonly progressive: boolean;
}

/** Width and height as a person sees the picture. */
export function visibleSize(info: ImageInfo): { width: number; height: number } {
  return info.orientation >= 5
    ? { width: info.height, height: info.width }
    : { width: info.width, height: info.height };
}
