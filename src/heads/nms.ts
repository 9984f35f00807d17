export type Box = readonly [x1: number, y1: number, x2: number, y2: number];

export interface Candidate {
  readonly box: Box;
  readonly score: number;
  readonly label: number;
}

/** Overlap of two boxes over their union, 0 to 1. */
export function iou(a: Box, b: Box): number {
  const width = Math.min(a[2], b[2]) - Math.max(a[0], b[0]);
  const height = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
  if (width <= 0 || height <= 0) return 0;
  const overlap = width * height;
  return overlap / (area(a) + area(b) - overlap);
}

function area(box: Box): number {
  return (box[2] - box[0]) * (box[3] - box[1]);
}

/**
 * Per-class non-maximum suppression: of candidates with the same label that overlap by more than
 * `threshold`, the best one stays. The result is ordered by score, highest first.
 */
export function suppress(candidates: readonly Candidate[], threshold: number): Candidate[] {
  const kept: Candidate[] = [];
  for (const candidate of candidates.toSorted((a, b) => b.score - a.score)) {
    const hidden = kept.some(
      (better) => better.label === candidate.label && iou(better.box, candidate.box) > threshold,
    );
    if (!hidden) kept.push(candidate);
  }
  return kept;
}
