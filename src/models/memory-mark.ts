/** What an engine holds: resident memory of its process, and memory of its GPU where that is known. */
export interface MemoryUse {
  readonly rssBytes: number;
  readonly gpuBytes?: number | undefined;
}

const GiB = 2 ** 30;
/** By itself an engine grows by its buffers and by the largest pictures, not by several times. */
const GROWTH = 3;
const ROOM_BYTES = 1 * GiB;

/**
 * The most an engine may hold.
 * @param setting the same for both kinds of memory, or `auto`: by what it held after its start
 */
export function markFor(setting: number | 'auto', start: MemoryUse): MemoryUse {
  if (setting !== 'auto') return { rssBytes: setting, gpuBytes: setting };
  const { rssBytes, gpuBytes } = start;
  const grown = (bytes: number): number => GROWTH * bytes + ROOM_BYTES;
  return {
    rssBytes: grown(rssBytes),
    ...(gpuBytes !== undefined && { gpuBytes: grown(gpuBytes) }),
  };
}

/** Which of its kinds of memory is above its mark. What is not known is not. */
export function above(use: MemoryUse, mark: MemoryUse): 'memory' | 'gpu_memory' | undefined {
  if (use.rssBytes > mark.rssBytes) return 'memory';
  return (use.gpuBytes ?? 0) > (mark.gpuBytes ?? Infinity) ? 'gpu_memory' : undefined;
}

/** The larger of each kind. */
export function most(a: MemoryUse, b: MemoryUse): MemoryUse {
  const gpuBytes =
    a.gpuBytes === undefined ? b.gpuBytes : Math.max(a.gpuBytes, b.gpuBytes ?? a.gpuBytes);
  return { rssBytes: Math.max(a.rssBytes, b.rssBytes), gpuBytes };
}
