import type { Detection } from './detection.js';
import type { HeadRequest } from './head.js';
import { type Box, type Candidate, suppress } from './nms.js';
import { type Outputs, rowOf } from './outputs.js';

/** The value that the original model was evaluated with. */
const NMS_IOU = 0.6;

/**
 * A model that decodes its boxes itself and gives its best candidates: `boxes` [N, K, 4] as
 * x1, y1, x2, y2 in 0..1, `scores` [N, K] and `classes` [N, K].
 */
export function decodeSsd(outputs: Outputs, request: HeadRequest): Detection[] {
  const { index, threshold, width, height, labels } = request;
  const scores = rowOf(outputs, 'scores', index);
  const classes = rowOf(outputs, 'classes', index);
  const boxes = rowOf(outputs, 'boxes', index);

  const candidates: Candidate[] = [];
  scores.forEach((score, at) => {
    if (score < threshold) return;
    const [x1 = 0, y1 = 0, x2 = 0, y2 = 0] = boxes.subarray(at * 4, at * 4 + 4);
    candidates.push({ score, label: classes[at] ?? 0, box: [x1, y1, x2, y2] });
  });
  return suppress(candidates, NMS_IOU).map(({ box, score, label }) => ({
    label: labels[label] ?? `class ${String(label)}`,
    confidence: round(score, 10_000),
    bbox: toPixels(box, width, height),
  }));
}

/** Inside the picture, to a tenth of a pixel. */
function toPixels(box: Box, width: number, height: number): Box {
  const place = (value: number, size: number): number =>
    round(Math.min(Math.max(value * size, 0), size), 10);
  return [place(box[0], width), place(box[1], height), place(box[2], width), place(box[3], height)];
}

/** To one part of `parts`. Not by way of text, which would be a third of the work here. */
function round(value: number, parts: number): number {
  return Math.round(value * parts) / parts;
}
