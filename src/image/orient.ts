import type { Pixels } from './pixels.js';

/**
 * Writes `source` into `target` the way EXIF orientation says a person should see it. For
 * orientations 5 to 8 the target has the source's width and height swapped.
 */
export function orient(source: Pixels, orientation: number, target: Pixels): void {
  const { width, height, data } = source;
  // Where a stored pixel (x, y) goes: to `origin + x × alongX + y × alongY`, in target pixels.
  const { origin, alongX, alongY } = placement(orientation, width, height);
  for (let y = 0, from = 0; y < height; y++) {
    let to = (origin + y * alongY) * 3;
    for (let x = 0; x < width; x++, from += 3, to += alongX * 3) {
      target.data[to] = data[from] ?? 0;
      target.data[to + 1] = data[from + 1] ?? 0;
      target.data[to + 2] = data[from + 2] ?? 0;
    }
  }
}

function placement(
  orientation: number,
  width: number,
  height: number,
): { origin: number; alongX: number; alongY: number } {
  const last = width * height - 1;
  switch (orientation) {
    case 2: // mirrored
      return { origin: width - 1, alongX: -1, alongY: width };
    case 3: // upside down
      return { origin: last, alongX: -1, alongY: -width };
    case 4: // upside down and mirrored
      return { origin: last - width + 1, alongX: 1, alongY: -width };
    case 5: // mirrored over the main diagonal
      return { origin: 0, alongX: height, alongY: 1 };
    case 6: // the camera was turned left: rotate right
      return { origin: height - 1, alongX: height, alongY: -1 };
    case 7: // mirrored over the other diagonal
      return { origin: last, alongX: -height, alongY: -1 };
    case 8: // the camera was turned right: rotate left
      return { origin: last - height + 1, alongX: -height, alongY: 1 };
    default:
      return { origin: 0, alongX: 1, alongY: width };
  }
}
