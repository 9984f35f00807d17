import type { Detection } from './detection.js';
import type { Outputs } from './outputs.js';
import { decodeSsd } from './ssd.js';

/** What a head needs to know about one picture of the batch. */
export interface HeadRequest {
  readonly index: number;
  readonly threshold: number;
  readonly width: number;
  readonly height: number;
  readonly labels: readonly string[];
}

/** Turns the outputs of a model into detections. Pure. */
export type Head = (outputs: Outputs, request: HeadRequest) => Detection[];

export const HEADS = { ssd: decodeSsd } as const satisfies Record<string, Head>;
export type HeadName = keyof typeof HEADS;
