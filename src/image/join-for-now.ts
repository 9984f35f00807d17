/** Reused for what is read at once: a fresh block per request keeps the collector busy. */
let scratch = Buffer.alloc(0);
const MAX_SCRATCH_BYTES = 4 * 2 ** 20;

/** The pieces as one buffer that is valid until the next call, so only for use in the same tick. */
export function joinForNow(pieces: readonly Buffer[]): Buffer {
  const [first] = pieces;
  if (pieces.length === 1 && first !== undefined) return first;
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (length > MAX_SCRATCH_BYTES) return Buffer.concat(pieces);
  if (scratch.length < length) scratch = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(length)));
  let filled = 0;
  for (const piece of pieces) filled += piece.copy(scratch, filled);
  return scratch.subarray(0, length);
}
