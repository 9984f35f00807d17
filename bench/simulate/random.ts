/** Numbers in [0, 1) that are the same for the same seed, on every machine. */
export type Random = () => number;

/** Mulberry32: small, fast, and good enough to draw arrivals from. */
export function seeded(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** The time until the next event of a Poisson process. */
export function exponential(random: Random, meanMs: number): number {
  return -Math.log(1 - random()) * meanMs;
}
