import type { Detection } from '../heads/detection.js';
import { iou } from '../heads/nms.js';

/** What is found with less is noise, in which every kind of arithmetic sees something else. */
const CLEAR = 0.3;
const MIN_OVERLAP = 0.9;
/** Boxes of a few pixels, or of none, have no overlap to speak of. */
const SAME_PIXELS = 1;
const MAX_DIFFERENCE = 0.05;
/** When nothing is clear, this many of the best are compared by their confidence alone. */
const BEST = 10;

/**
 * How what a device finds in pictures differs from what the CPU does, in one line; `undefined`
 * when they agree. Everything clear must have a counterpart on the other side. Both lists hold all
 * that the model gave, down to a confidence of 0.
 */
export function disagreement(
  expected: readonly (readonly Detection[])[],
  actual: readonly (readonly Detection[])[],
): string | undefined {
  if (expected.length !== actual.length) return 'it did not answer every picture';
  for (const [picture, ours] of expected.entries()) {
    const difference = compare(ours, actual[picture] ?? []);
    if (difference !== undefined) return `picture ${String(picture + 1)}: ${difference}`;
  }
  return undefined;
}

function compare(expected: readonly Detection[], actual: readonly Detection[]): string | undefined {
  if (![...expected, ...actual].every(isFinite)) return 'it gives values that are not numbers';
  const clear = { expected: expected.filter(isClear), actual: actual.filter(isClear) };
  const missing = clear.expected.find((one) => !hasCounterpart(one, actual));
  if (missing !== undefined) return `it does not find ${describe(missing)}`;
  const extra = clear.actual.find((one) => !hasCounterpart(one, expected));
  if (extra !== undefined) return `it finds ${describe(extra)} where there is none`;
  return clear.expected.length > 0 ? undefined : compareBest(expected, actual);
}

/** Noise has to look alike, too: a device that sees nothing anywhere would pass otherwise. */
function compareBest(
  expected: readonly Detection[],
  actual: readonly Detection[],
): string | undefined {
  const [ours, theirs] = [bestOf(expected), bestOf(actual)];
  const isAlike = Array.from({ length: Math.max(ours.length, theirs.length) }).every(
    (_, at) => Math.abs((ours[at] ?? 0) - (theirs[at] ?? 0)) <= MAX_DIFFERENCE,
  );
  return isAlike ? undefined : 'the confidence of what it finds is not the same';
}

function bestOf(detections: readonly Detection[]): number[] {
  return detections
    .map(({ confidence }) => confidence)
    .sort((a, b) => b - a)
    .slice(0, BEST);
}

function hasCounterpart(one: Detection, others: readonly Detection[]): boolean {
  return others.some(
    (other) =>
      other.label === one.label &&
      Math.abs(other.confidence - one.confidence) <= MAX_DIFFERENCE &&
      isSamePlace(one.bbox, other.bbox),
  );
}

function isSamePlace(a: Detection['bbox'], b: Detection['bbox']): boolean {
  if (iou(a, b) >= MIN_OVERLAP) return true;
  return a.every((value, at) => Math.abs(value - (b[at] as number)) <= SAME_PIXELS);
}

function isClear({ confidence }: Detection): boolean {
  return confidence >= CLEAR;
}

function isFinite({ confidence, bbox }: Detection): boolean {
  return [confidence, ...bbox].every(Number.isFinite);
}

function describe({ label, confidence }: Detection): string {
  return `"${label}" (${confidence.toFixed(2)})`;
}
