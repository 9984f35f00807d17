import { parseArgs } from 'node:util';
import { DEVICES, type DeviceName } from '../config/devices.js';
import { readEnvironment } from '../config/environment.js';
import { ConfigError } from '../config/load.js';
import type { Form } from '../load/prepared-request.js';
import { LARGEST_BATCH } from '../tune/search-space.js';
import { choice, integer, number, usageError } from './arguments.js';

export interface TuneArgs {
  /** As for `shoal serve`. */
  readonly model: string | undefined;
  readonly device: 'auto' | DeviceName;
  /** Empty: the usual one. */
  readonly cacheDir: string;
  readonly targetP99Ms: number | undefined;
  readonly rate: number | undefined;
  readonly seconds: number;
  readonly rounds: number;
  readonly maxBatch: number;
  readonly windows: readonly number[];
  /** Empty: the bundled ones. */
  readonly images: readonly string[];
  readonly form: Form;
  readonly svg: string | undefined;
  /** A file, or - for standard output. */
  readonly json: string | undefined;
}

const OPTIONS = {
  device: { type: 'string', default: 'auto' },
  'cache-dir': { type: 'string' },
  'target-p99-ms': { type: 'string' },
  rate: { type: 'string' },
  seconds: { type: 'string', default: '5' },
  rounds: { type: 'string', default: '3' },
  'max-batch': { type: 'string', default: String(LARGEST_BATCH) },
  windows: { type: 'string' },
  image: { type: 'string', multiple: true },
  form: { type: 'string', default: 'json' },
  svg: { type: 'string' },
  json: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** @throws ConfigError that names the flag */
export function parseTuneArgs(args: string[]): TuneArgs | 'help' {
  const { values, positionals } = parse(args);
  if (values.help === true) return 'help';
  if (positionals.length > 1) throw new ConfigError('give one model; see shoal tune --help');
  const target = values['target-p99-ms'];
  if (values.rate !== undefined && target === undefined) {
    throw new ConfigError('--rate is for --target-p99-ms');
  }
  const windows = values.windows?.split(',') ?? [];
  return {
    model: positionals[0],
    device: choice('device', values.device, ['auto', ...DEVICES]),
    cacheDir: values['cache-dir'] ?? readEnvironment()['SHOAL_CACHE_DIR'] ?? '',
    targetP99Ms:
      target === undefined ? undefined : number('target-p99-ms', target, 0.001, 3_600_000),
    rate: values.rate === undefined ? undefined : number('rate', values.rate, 0.01, 100_000),
    seconds: number('seconds', values.seconds, 0.1, 3600),
    rounds: integer('rounds', values.rounds, 1, 100),
    maxBatch: integer('max-batch', values['max-batch'], 1, 256),
    windows: [...new Set(windows.map((window) => number('windows', window, 0, 10_000)))],
    images: values.image ?? [],
    form: choice('form', values.form, ['json', 'raw']),
    svg: values.svg,
    json: values.json,
  };
}

// The result's type follows from the options.
// eslint-disable-next-line @typescript-eslint/explicit-function-return-type
function parse(args: string[]) {
  try {
    return parseArgs({ args, allowPositionals: true, options: OPTIONS });
  } catch (error) {
    throw usageError(error as Error, Object.keys(OPTIONS), 'shoal tune');
  }
}
