import { DeviceError, isOnCpu, type Variant } from './variant.js';

export interface ChoiceHost {
  /**
   * Tries it on its devices.
   * @returns the same with those devices that work
   * @throws why none of them is of any use
   */
  prove(variant: Variant): Promise<Variant>;
  /** Planned images per second, when they were measured before. */
  recall(variant: Variant): Promise<number | undefined>;
  /** The same by measuring now. */
  measure(variant: Variant): Promise<number>;
  onRefused(variant: Variant, reason: string): void;
  /** Nothing is to be measured: the first that works is taken. */
  readonly isUnmeasured: boolean;
}

export interface Rated {
  readonly variant: Variant;
  /** Planned images per second; 0 when they are not measured. */
  readonly rate: number;
}

export interface Choice {
  readonly variant: Variant;
  /** All that were compared, the fastest first. */
  readonly rated: readonly Rated[];
}

/** Rates that differ by less are taken for equal, and what comes first in order wins. */
const TIE = 0.02;

/**
 * The fastest of the ways that really work. One that was never measured has to work before it is
 * measured; one that was has to work before it is taken, at every start.
 * @param variants the better first; never empty
 * @param fallback the CPU, which competes with the others; `undefined` when they were asked for
 * @throws DeviceError when nothing works and there is no fallback
 */
export async function choose(
  variants: readonly Variant[],
  fallback: Variant | undefined,
  host: ChoiceHost,
): Promise<Choice> {
  const trials = new Trials(host);
  const rated: Rated[] = [];
  for (const variant of variants) {
    // What does not work in 32 bits does not in 16, and one line about it is enough.
    if (trials.hasRefused(variant)) continue;
    const rate = await trials.rate(variant);
    if (rate !== undefined) rated.push({ variant, rate });
  }
  // With nothing to compare it with, the CPU is not measured here but like any model.
  if (fallback !== undefined) {
    const rate = rated.length > 0 ? await trials.rate(fallback) : 0;
    rated.push({ variant: fallback, rate: rate ?? 0 });
  }
  const order = fastestFirst(rated);
  for (const { variant } of order) {
    const proven = await trials.prove(variant);
    if (proven !== undefined) return { variant: proven, rated: order };
  }
  throw new DeviceError(variants[0]?.devices[0]?.name ?? 'cpu', trials.firstReason);
}

function fastestFirst(rated: readonly Rated[]): Rated[] {
  const left = [...rated];
  const order: Rated[] = [];
  while (left.length > 0) {
    const top = Math.max(...left.map(({ rate }) => rate));
    const next = left.findIndex(({ rate }) => rate >= top * (1 - TIE));
    order.push(...left.splice(next, 1));
  }
  return order;
}

/** Every way is tried once, and what fails is told once. */
class Trials {
  readonly #host: ChoiceHost;
  readonly #proven = new Map<Variant, Variant | undefined>();
  firstReason = '';

  constructor(host: ChoiceHost) {
    this.#host = host;
  }

  /** Whether another way to use the same devices was refused. */
  hasRefused({ devices }: Variant): boolean {
    return [...this.#proven].some(
      ([one, proven]) => proven === undefined && one.devices[0]?.name === devices[0]?.name,
    );
  }

  /** `undefined` when it does not work. */
  async rate(variant: Variant): Promise<number | undefined> {
    if (this.#host.isUnmeasured) return 0;
    const known = await this.#host.recall(variant);
    if (known !== undefined) return known;
    const proven = await this.prove(variant);
    if (proven === undefined) return undefined;
    try {
      return await this.#host.measure(proven);
    } catch (error) {
      // Without the CPU there is no model.
      if (isOnCpu(variant)) throw error;
      this.#refuse(variant, error as Error);
      return undefined;
    }
  }

  async prove(variant: Variant): Promise<Variant | undefined> {
    if (isOnCpu(variant)) return variant;
    if (!this.#proven.has(variant)) {
      try {
        this.#proven.set(variant, await this.#host.prove(variant));
      } catch (error) {
        this.#refuse(variant, error as Error);
      }
    }
    return this.#proven.get(variant);
  }

  #refuse(variant: Variant, { message }: Error): void {
    if (this.firstReason === '') this.firstReason = message;
    this.#proven.set(variant, undefined);
    this.#host.onRefused(variant, message);
  }
}
