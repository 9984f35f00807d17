import { availableParallelism } from 'node:os';
import type { DeviceName } from '../../src/config/devices.js';
import type { Children } from '../../src/tune/children.js';
import type { GpuOptions, PartName } from './options.js';
import type { Results } from './results.js';

/** What every part works with. */
export interface Context {
  readonly root: string;
  readonly options: GpuOptions;
  readonly cacheDir: string;
  readonly images: readonly Buffer[];
  /** Whatever a part starts; none of it outlives the part. */
  readonly children: Children;
  /** Whether the part has run out of time. */
  readonly isOver: () => boolean;
  readonly results: Results;
  /** Writes what there is: the machine may be gone the next moment. */
  readonly save: () => void;
  readonly tell: (text: string) => void;
}

export type Part = (context: Context) => Promise<void>;

export const CORES = availableParallelism();

/** Goes on with the next when one fails, and says so in the results. */
export async function forEach<T>(
  context: Context,
  part: PartName,
  things: readonly T[],
  name: (thing: T) => string,
  work: (thing: T) => Promise<void>,
): Promise<void> {
  for (const thing of things) {
    if (context.isOver()) return;
    try {
      await work(thing);
    } catch (error) {
      if (context.isOver()) return;
      const why = error instanceof Error ? error.message : String(error);
      context.tell(`  ${name(thing)}: ${why}`);
      context.results.failures.push({ part, what: name(thing), why });
    } finally {
      context.children.killAll();
      context.save();
    }
  }
}

/** Long parts look at GPUs only, where there is one to look at. */
export function mainDevices({ devices }: GpuOptions): readonly DeviceName[] {
  const gpus = devices.filter((device) => device !== 'cpu');
  return gpus.length === 0 ? devices : gpus;
}
