import { axisTable, BITS, ONE } from './axis-table.js';
import { resizeWithKernel } from './bilinear-kernel.js';
import type { Pixels } from './pixels.js';

const HALF = 1 << (2 * BITS - 1);

/**
 * Bilinear resize with TensorFlow's classic sampling (`source = target × scale`, no half-pixel
 * shift), which is what the bundled model was trained with. Meant for factors up to about 2.5;
 * beyond that bilinear skips pixels and aliases.
 */
export function resizeBilinear(source: Pixels, target: Pixels): void {
  const columns = axisTable('columns', source.width, target.width, 3);
  const rows = axisTable('rows', source.height, target.height, source.width * 3);
  if (!resizeWithKernel(source, target, columns, rows)) resizePlainly(source, target);
}

/** The same pixels, for pictures that are too large for the kernel: ten times as slow. */
export function resizePlainly(source: Pixels, target: Pixels): void {
  const { near, far, weight } = axisTable('columns', source.width, target.width, 3);
  const rows = axisTable('rows', source.height, target.height, source.width * 3);
  const from = source.data;
  const at = (index: number): number => from[index] as number;
  const to = target.data;
  const width = target.width;
  let out = 0;
  for (let y = 0; y < target.height; y++) {
    const top = rows.near[y] as number;
    const bottom = rows.far[y] as number;
    const down = rows.weight[y] as number;
    const up = ONE - down;
    for (let x = 0; x < width; x++) {
      const left = near[x] as number;
      const right = far[x] as number;
      const east = weight[x] as number;
      const west = ONE - east;
      const a = top + left;
      const b = top + right;
      const c = bottom + left;
      const d = bottom + right;
      // Written out: a loop over the three channels takes a third longer.
      to[out] = blend(at(a), at(b), at(c), at(d), west, east, up, down);
      to[out + 1] = blend(at(a + 1), at(b + 1), at(c + 1), at(d + 1), west, east, up, down);
      to[out + 2] = blend(at(a + 2), at(b + 2), at(c + 2), at(d + 2), west, east, up, down);
      out += 3;
    }
  }
}

/** Two pixels above, two below, each weighted by how near it is. */
function blend(
  aboveWest: number,
  aboveEast: number,
  belowWest: number,
  belowEast: number,
  west: number,
  east: number,
  up: number,
  down: number,
): number {
  const above = aboveWest * west + aboveEast * east;
  const below = belowWest * west + belowEast * east;
  return (above * up + below * down + HALF) >> (2 * BITS);
}
