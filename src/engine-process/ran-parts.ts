import type { Outputs } from '../heads/outputs.js';
import type { Inferred } from './infer.js';
import { toRunError } from './lane-results.js';
import type { RanPart, SessionAnswer } from './pipeline-messages.js';

/** Pictures whose results lie in the same outputs belong together. */
export function partsOf(pictures: readonly Inferred[]): RanPart[] {
  const parts: RanPart[] = [];
  for (const picture of pictures) {
    const last = parts.at(-1);
    if ('error' in picture) {
      parts.push({ count: 1, error: toRunError(picture.error) });
    } else if (last !== undefined && 'outputs' in last && last.outputs === picture.outputs) {
      parts[parts.length - 1] = { count: last.count + 1, outputs: last.outputs };
    } else {
      parts.push({ count: 1, outputs: picture.outputs });
    }
  }
  return parts;
}

/** Tensors are objects with methods, which do not travel between threads. */
export function plainOutputs(outputs: Outputs): Outputs {
  return Object.fromEntries(
    Object.entries(outputs).map(([name, { data, dims }]) => [name, { data, dims }]),
  );
}

/** What can change hands instead of being copied. */
export function buffersOf(parts: readonly RanPart[]): ArrayBuffer[] {
  const outputs = parts.flatMap((part): Outputs[] => ('outputs' in part ? [part.outputs] : []));
  const buffers = outputs.flatMap((one) => Object.values(one).map(({ data }) => data.buffer));
  return [...new Set(buffers)].filter((buffer) => buffer instanceof ArrayBuffer);
}

/** Hands a batch and its outputs over. Memory that a provider does not let go of is copied. */
export function postParts(
  post: (ran: SessionAnswer, transfer: readonly ArrayBuffer[]) => void,
  ran: SessionAnswer,
): void {
  try {
    post(ran, [ran.pixels, ...buffersOf(ran.parts)]);
  } catch (error) {
    if (!(error instanceof DOMException && error.name === 'DataCloneError')) throw error;
    post(ran, [ran.pixels]);
  }
}
