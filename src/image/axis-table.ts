/** Weights are fixed-point with 11 bits, so that two multiplications of a byte fit 31 bits. */
export const BITS = 11;
export const ONE = 1 << BITS;

/** For each target position: the two source positions around it, in bytes, and the weight. */
export interface AxisTable {
  readonly sourceSize: number;
  readonly targetSize: number;
  readonly stride: number;
  readonly near: Int32Array;
  readonly far: Int32Array;
  /** Of the farther one. */
  readonly weight: Int32Array;
}

/** Photos of one camera share their size, so a few tables serve nearly all of them. */
const CACHE_SIZE = 16;
const caches = { columns: [] as AxisTable[], rows: [] as AxisTable[] };

/** @param stride how far apart two neighbours are, in bytes */
export function axisTable(
  axis: keyof typeof caches,
  sourceSize: number,
  targetSize: number,
  stride: number,
): AxisTable {
  const cache = caches[axis];
  const known = cache.find(
    (table) =>
      table.sourceSize === sourceSize && table.targetSize === targetSize && table.stride === stride,
  );
  if (known !== undefined) return known;
  const table: AxisTable = {
    sourceSize,
    targetSize,
    stride,
    near: new Int32Array(targetSize),
    far: new Int32Array(targetSize),
    weight: new Int32Array(targetSize),
  };
  const scale = sourceSize / targetSize;
  for (let index = 0; index < targetSize; index++) {
    const position = index * scale;
    const near = Math.min(Math.floor(position), sourceSize - 1);
    table.near[index] = near * stride;
    table.far[index] = Math.min(near + 1, sourceSize - 1) * stride;
    table.weight[index] = Math.round((position - near) * ONE);
  }
  cache.unshift(table);
  cache.length = Math.min(cache.length, CACHE_SIZE);
  return table;
}
