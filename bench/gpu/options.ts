import { parseArgs } from 'node:util';
import { DEVICES, type DeviceName } from '../../src/config/devices.js';

export const PARTS = [
  'machine',
  'raw',
  'decode',
  'served',
  'batch1',
  'sweep',
  'crash',
  'soak',
  'steps',
] as const;
export type PartName = (typeof PARTS)[number];

export interface GpuOptions {
  readonly images: string | undefined;
  readonly out: string;
  readonly pack: string | undefined;
  /** Whether the model in 16 bits is packed, too; it does not compress. */
  readonly packsFp16: boolean;
  readonly parts: readonly PartName[];
  readonly devices: readonly DeviceName[];
  readonly cacheDir: string | undefined;
  /** Seconds for everything together; parts that find no time left are skipped. */
  readonly budget: number;
  readonly quick: boolean;
  /** Seconds of each measurement of a part, and of the whole for crash and soak. */
  readonly seconds: Readonly<Record<PartName, number>>;
  /** Seconds after which a part is given up. */
  readonly limits: Readonly<Record<PartName, number>>;
  readonly concurrency: readonly number[];
  readonly batches: readonly number[];
  /** How often the servers of a comparison have their turns. */
  readonly rounds: number;
  readonly sweepSessions: readonly number[] | undefined;
  readonly sweepBatches: readonly number[] | undefined;
  readonly serverFlags: readonly string[];
}

const SECONDS: Record<PartName, number> = {
  machine: 0,
  raw: 2,
  decode: 3,
  served: 6,
  batch1: 6,
  sweep: 4,
  steps: 5,
  crash: 24,
  soak: 300,
};
const QUICK_SECONDS: Record<PartName, number> = {
  machine: 0,
  raw: 0.3,
  decode: 0.3,
  served: 1,
  batch1: 1,
  sweep: 1,
  steps: 1,
  crash: 8,
  soak: 6,
};
const LIMITS: Record<PartName, number> = {
  machine: 30,
  raw: 400,
  decode: 120,
  served: 600,
  batch1: 400,
  sweep: 900,
  steps: 1200,
  crash: 180,
  soak: 120,
};
const LISTS = {
  concurrency: { full: [8, 32, 64, 128, 256, 512], quick: [8, 32] },
  batches: { full: [1, 2, 4, 8, 16, 32, 64, 128], quick: [1, 4] },
};

/** @throws with one line that says what is wrong */
export function parseOptions(args: readonly string[]): GpuOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    allowNegative: true,
    options: {
      images: { type: 'string' },
      out: { type: 'string', default: 'bench-gpu' },
      pack: { type: 'string' },
      fp16: { type: 'boolean', default: true },
      parts: { type: 'string', default: PARTS.join() },
      devices: { type: 'string', default: 'cuda,webgpu,cpu' },
      'cache-dir': { type: 'string' },
      budget: { type: 'string', default: '3600' },
      quick: { type: 'boolean', default: false },
      seconds: { type: 'string', default: '' },
      limits: { type: 'string', default: '' },
      concurrency: { type: 'string' },
      batches: { type: 'string' },
      rounds: { type: 'string' },
      'sweep-sessions': { type: 'string' },
      'sweep-batches': { type: 'string' },
    },
  });
  const { quick } = values;
  const list = (name: keyof typeof LISTS): readonly number[] =>
    numbers(values[name], `--${name}`) ?? LISTS[name][quick ? 'quick' : 'full'];
  const seconds = byPart(values.seconds, quick ? QUICK_SECONDS : SECONDS);
  return {
    images: values.images,
    out: values.out,
    pack: values.pack,
    packsFp16: values.fp16,
    parts: words(values.parts, PARTS, '--parts'),
    devices: words(values.devices, DEVICES, '--devices'),
    cacheDir: values['cache-dir'],
    budget: positive(values.budget, '--budget'),
    quick,
    seconds,
    // A longer soak has more time by itself.
    limits: byPart(values.limits, { ...LIMITS, soak: LIMITS.soak + seconds.soak }),
    concurrency: list('concurrency'),
    batches: list('batches'),
    rounds: positive(values.rounds ?? (quick ? '1' : '5'), '--rounds'),
    sweepSessions: numbers(values['sweep-sessions'], '--sweep-sessions'),
    sweepBatches: numbers(values['sweep-batches'], '--sweep-batches'),
    serverFlags: positionals,
  };
}

function words<T extends string>(text: string, known: readonly T[], flag: string): T[] {
  return text.split(',').map((word) => {
    const found = known.find((one) => one === word);
    if (found === undefined) throw new Error(`${flag}: "${word}" is none of ${known.join(', ')}`);
    return found;
  });
}

function numbers(text: string | undefined, flag: string): number[] | undefined {
  return text?.split(',').map((one) => positive(one, flag));
}

function positive(text: string, flag: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`${flag}: "${text}" is not a number above 0`);
  return value;
}

/** `soak=60,served=3` on top of what is usual. */
function byPart(text: string, usual: Record<PartName, number>): Record<PartName, number> {
  const own = text.split(',').filter(Boolean);
  return own.reduce(
    (all, pair) => {
      const [name = '', value = ''] = pair.split('=');
      const [part] = words(name, PARTS, 'a part');
      return part === undefined ? all : { ...all, [part]: positive(value, name) };
    },
    { ...usual },
  );
}
