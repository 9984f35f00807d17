import type { EngineConfig } from '../engine/messages.js';
import { ShoalError } from '../errors.js';
import { HEADS } from '../heads/head.js';
import type { Outputs } from '../heads/outputs.js';
import { isOutOfMemory } from './run-errors.js';
import type { PublicError, RunResult, Seen } from './lane-messages.js';

/** What the model found in picture `index` of a batch. */
export function applyHead(
  { head, labels }: EngineConfig,
  outputs: Outputs,
  index: number,
  { threshold, width, height }: Seen,
): RunResult['result'] {
  try {
    return JSON.stringify(HEADS[head](outputs, { index, threshold, labels, width, height }));
  } catch (error) {
    return toPublicError(error);
  }
}

const FAILED: PublicError = { code: 'model_failed', detail: 'The model failed on this image.' };
const NO_MEMORY: PublicError = {
  code: 'out_of_memory',
  detail: 'The engine has not enough memory to run this image, even alone.',
};

/** Why there is no result for a picture, even alone. */
export function toRunError(error: unknown): PublicError {
  console.error(error);
  return isOutOfMemory(error) ? NO_MEMORY : FAILED;
}

/** What may reach a client; anything unexpected goes to the log instead. */
export function toPublicError(error: unknown): PublicError {
  if (error instanceof ShoalError) return { code: error.code, detail: error.message };
  console.error(error);
  return FAILED;
}
