/** What Redis says about its memory, and what our jobs occupy of it. */
export interface Memory {
  readonly used: number;
  /** 0 when there is no limit. */
  readonly max: number;
  readonly jobs: number;
}

/**
 * The part of Redis's memory that new jobs may fill. When Redis is quite full BullMQ cannot even
 * hand out what is there, and nothing would ever make room again.
 */
const FILL = 0.85;

/** What our jobs may occupy: what the operator said, and no more than Redis has room for. */
export function byteLimit(maxBytes: number, { used, max, jobs }: Memory): number {
  if (max === 0) return maxBytes;
  return Math.min(maxBytes, jobs + max * FILL - used);
}

/** A line of `INFO`, such as `used_memory:123`. */
export function infoValue(info: string, name: string): string | undefined {
  return info
    .split(/\r?\n/)
    .find((line) => line.startsWith(`${name}:`))
    ?.slice(name.length + 1);
}

export function parseMemory(info: string, jobs: number): Memory {
  const value = (name: string): number => Number(infoValue(info, name) ?? 0);
  return { used: value('used_memory'), max: value('maxmemory'), jobs };
}
