import { createRandom } from './random.js';

export type Arrivals = 'poisson' | 'steady';

export interface Schedule {
  readonly arrivals: Arrivals;
  /** Requests per second, on average. */
  readonly rate: number;
  readonly seconds: number;
  readonly seed: number;
}

/**
 * When requests are to be sent, in ms after the start: the same for the same seed. Poisson
 * arrivals are those of many clients that do not know of each other, so they come in clumps.
 */
export function arrivalTimes({ arrivals, rate, seconds, seed }: Schedule): Float64Array {
  const end = seconds * 1000;
  const mean = 1000 / rate;
  if (arrivals === 'steady') {
    // A hair less than the quotient, so that 50/s for 10 s are 500 and not 501 by a rounding error.
    const count = Math.ceil(rate * seconds - 1e-9);
    return Float64Array.from({ length: count }, (_, index) => index * mean);
  }
  const random = createRandom(seed);
  const times: number[] = [];
  for (let at = gap(random, mean); at < end; at += gap(random, mean)) times.push(at);
  return Float64Array.from(times);
}

function gap(random: () => number, mean: number): number {
  return -Math.log(1 - random()) * mean;
}
