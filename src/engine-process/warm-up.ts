import type { EngineConfig } from '../engine/messages.js';
import { bucketFor } from './buckets.js';
import { isOutOfMemory } from './run-errors.js';
import type { Runtime } from './runtime.js';

/**
 * First runs allocate and are slow; they must not be a client's.
 * @param pixels room for the largest of `sizes`; what is in it does not matter
 * @returns the largest batch that fits into memory, when not all that were tried did
 */
export async function warmUp(
  runtime: Runtime,
  { buckets, input, warmUpMs }: Pick<EngineConfig, 'buckets' | 'input' | 'warmUpMs'>,
  sizes: readonly number[],
  pixels: Uint8Array,
): Promise<number | undefined> {
  const pictureBytes = input.width * input.height * 3;
  const started = performance.now();
  let fits = 0;
  for (const size of new Set(sizes.map((count) => bucketFor(count, buckets)))) {
    if (performance.now() - started > warmUpMs) break;
    try {
      await runtime.run(pixels.subarray(0, size * pictureBytes), size);
      fits = size;
    } catch (error) {
      if (fits > 0 && isOutOfMemory(error)) return fits;
      throw error;
    }
  }
  return undefined;
}
