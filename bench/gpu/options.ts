import { DEVICES, type DeviceName } from '../../src/config/devices.js';
import {
  type Bench,
  flag,
  IMAGES,
  list,
  number,
  oneOf,
  optionalNumber,
  parseArguments,
  positive,
  type Setting,
  text,
  textOr,
} from '../arguments.js';

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

/** `1,8,32` */
const numbers = (help: string): Setting<readonly number[] | undefined> => ({
  placeholder: 'N,N,…',
  help,
  read: (given) => given?.split(',').map(positive),
});

/** `soak=60,served=3`, on top of what is usual. */
const byPart = (help: string): Setting<Partial<Record<PartName, number>>> => ({
  placeholder: 'PART=N,…',
  help,
  read: (given = '') =>
    Object.fromEntries(
      given
        .split(',')
        .filter(Boolean)
        .map((pair) => {
          const [part = '', value = ''] = pair.split('=');
          return [oneOf(PARTS, part), positive(value)];
        }),
    ),
});

export const GPU_BENCH = {
  name: 'bench:gpu',
  about:
    'Everything about a machine with a GPU, unattended. A part that fails or takes too long does not\n' +
    'end the run, and what was found is written after every measurement.',
  takesServerFlags: true,
  settings: {
    images: IMAGES,
    out: textOr('bench-gpu', 'DIR', 'Where to write results.json and results.md'),
    parts: list(PARTS, PARTS, 'What to measure'),
    devices: list(DEVICES, ['cuda', 'webgpu', 'cpu'], 'What to measure it on'),
    'cache-dir': text('DIR', "As the server's --cache-dir"),
    budget: number(3600, 'Seconds for everything together; what finds no time left is skipped'),
    quick: flag('Make everything short, to see whether it works'),
    seconds: byPart('Seconds of each measurement of a part, of the whole for crash and soak'),
    limits: byPart('Seconds after which a part is given up'),
    concurrency: numbers('Clients at once, where that is varied'),
    batches: numbers('Batch sizes of the raw loop'),
    rounds: optionalNumber('How often the servers of a comparison have their turns'),
    'sweep-sessions': numbers('Sessions of the sweep'),
    'sweep-batches': numbers('Batch sizes of the sweep'),
    pack: text('DIR', 'Measure nothing: write what a bare machine needs besides Node to run this'),
    'no-fp16': flag('Leave the model in 16 bits out of that'),
  },
} satisfies Bench<Record<string, Setting<unknown>>>;

/** @throws with one line that says what is wrong */
export function parseOptions(args: readonly string[]): GpuOptions {
  const { values, serverFlags } = parseArguments(GPU_BENCH, args);
  const { quick } = values;
  const seconds = { ...(quick ? QUICK_SECONDS : SECONDS), ...values.seconds };
  return {
    images: values.images,
    out: values.out,
    pack: values.pack,
    packsFp16: !values['no-fp16'],
    parts: values.parts,
    devices: values.devices,
    cacheDir: values['cache-dir'],
    budget: values.budget,
    quick,
    seconds,
    // A longer soak has more time by itself.
    limits: { ...LIMITS, soak: LIMITS.soak + seconds.soak, ...values.limits },
    concurrency: values.concurrency ?? LISTS.concurrency[quick ? 'quick' : 'full'],
    batches: values.batches ?? LISTS.batches[quick ? 'quick' : 'full'],
    rounds: values.rounds ?? (quick ? 1 : 5),
    sweepSessions: values['sweep-sessions'],
    sweepBatches: values['sweep-batches'],
    serverFlags,
  };
}
