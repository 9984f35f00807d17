import type { Outputs } from '../heads/outputs.js';
import { smallerSize } from './buckets.js';
import { isDeviceLost, isOutOfMemory } from './run-errors.js';

/** Where the result of one picture lies, or why there is none. */
export type Inferred =
  { readonly outputs: Outputs; readonly index: number } | { readonly error: unknown };

export interface InferredBatch {
  /** In the order of the pictures. */
  readonly pictures: readonly Inferred[];
  /** Set when memory was not enough: the largest batch that still was. */
  readonly ceiling?: number;
}

/**
 * Runs a batch and keeps failures small. One that fails is halved until the guilty picture is
 * alone; the others get their results. One that runs out of memory is halved as well, and what
 * did fit is remembered. Where the device is lost there is nothing to keep: that is thrown.
 * @param run runs `count` pictures from number `first` on
 * @param buckets the only sizes that run, where there are such: pictures are filled up to the next
 */
export async function inferBatch(
  run: (first: number, count: number) => Promise<Outputs>,
  count: number,
  buckets: readonly number[] = [],
): Promise<InferredBatch> {
  const pictures = new Array<Inferred>(count);
  let ceiling: number | undefined;

  async function attempt(first: number, size: number): Promise<void> {
    let failure: unknown;
    try {
      const outputs = await run(first, size);
      for (let index = 0; index < size; index++) pictures[first + index] = { outputs, index };
      return;
    } catch (error) {
      failure = error;
    }
    if (isDeviceLost(failure)) throw failure;
    const isTooLarge = isOutOfMemory(failure);
    const part = isTooLarge ? smallerSize(size, buckets) : Math.ceil(size / 2);
    if (isTooLarge) ceiling = Math.min(ceiling ?? part, part);
    if (part >= size) {
      pictures.fill({ error: failure }, first, first + size);
      return;
    }
    for (let done = 0; done < size; done += part) {
      await attempt(first + done, Math.min(part, size - done));
    }
  }
  if (count > 0) await attempt(0, count);
  return ceiling === undefined ? { pictures } : { pictures, ceiling };
}
