import { parseArgs } from 'node:util';
import { ConfigError } from '../config/load.js';
import { DEFAULT_MAX_SOCKETS, DEFAULT_SEED } from '../load/open-loop.js';
import { DEFAULT_TIMEOUT_MS } from '../load/options.js';
import type { Form } from '../load/prepared-request.js';
import type { Arrivals } from '../load/schedule.js';
import {
  choice,
  DEFAULT_URL,
  integer,
  number,
  sendableKey,
  serverUrl,
  usageError,
} from './arguments.js';

export interface BenchArgs {
  /** With the path of the route. */
  readonly url: URL;
  /** Empty: search the capacity. */
  readonly rates: readonly number[];
  readonly sloP99Ms: number | undefined;
  readonly seconds: number;
  readonly arrivals: Arrivals;
  readonly timeoutMs: number;
  readonly retryShare: number;
  readonly connections: number;
  readonly seed: number;
  /** Empty: the bundled ones. */
  readonly images: readonly string[];
  readonly form: Form;
  readonly apiKey: string | undefined;
  /** A file, or - for standard output. */
  readonly json: string | undefined;
}

const OPTIONS = {
  rate: { type: 'string' },
  rates: { type: 'string' },
  'find-capacity': { type: 'boolean' },
  'slo-p99-ms': { type: 'string' },
  seconds: { type: 'string' },
  arrivals: { type: 'string', default: 'poisson' },
  'timeout-ms': { type: 'string', default: String(DEFAULT_TIMEOUT_MS) },
  'retry-share': { type: 'string', default: '0' },
  connections: { type: 'string', default: String(DEFAULT_MAX_SOCKETS) },
  seed: { type: 'string', default: String(DEFAULT_SEED) },
  image: { type: 'string', multiple: true },
  form: { type: 'string', default: 'json' },
  model: { type: 'string' },
  'api-key': { type: 'string' },
  json: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

const MAX_RATE = 100_000;
const MAX_SECONDS = 86_400;
const SECONDS = 10;
const SEARCH_SECONDS = 4;

/** @throws ConfigError that names the flag */
export function parseBenchArgs(args: string[]): BenchArgs | 'help' {
  const { values, positionals } = parse(args);
  if (values.help === true) return 'help';
  if (positionals.length > 1) throw new ConfigError('give one URL; see shoal bench --help');
  const modes = [values.rate, values.rates, values['find-capacity']];
  if (modes.filter((mode) => mode !== undefined).length > 1) {
    throw new ConfigError('give one of --rate, --rates and --find-capacity');
  }
  const rates = (values.rate ?? values.rates)?.split(',') ?? [];
  const slo = values['slo-p99-ms'];
  if (slo !== undefined && rates.length > 0) {
    throw new ConfigError('--slo-p99-ms is for --find-capacity');
  }
  const defaultSeconds = rates.length > 0 ? SECONDS : SEARCH_SECONDS;
  return {
    url: routeOf(positionals[0] ?? DEFAULT_URL, values.model),
    rates: rates.map((rate) =>
      number(values.rate === undefined ? 'rates' : 'rate', rate, 0.01, MAX_RATE),
    ),
    sloP99Ms: slo === undefined ? undefined : number('slo-p99-ms', slo, 0.001, 3_600_000),
    seconds: number('seconds', values.seconds ?? String(defaultSeconds), 0.1, MAX_SECONDS),
    arrivals: choice('arrivals', values.arrivals, ['poisson', 'steady']),
    timeoutMs: number('timeout-ms', values['timeout-ms'], 1, 3_600_000),
    retryShare: number('retry-share', values['retry-share'], 0, 1),
    connections: integer('connections', values.connections, 1, 60_000),
    seed: integer('seed', values.seed, 0, 2 ** 32 - 1),
    images: values.image ?? [],
    form: choice('form', values.form, ['json', 'raw']),
    apiKey: sendableKey(values['api-key']),
    json: values.json,
  };
}

// The result's type follows from the options.
// eslint-disable-next-line @typescript-eslint/explicit-function-return-type
function parse(args: string[]) {
  try {
    return parseArgs({ args, allowPositionals: true, options: OPTIONS });
  } catch (error) {
    throw usageError(error as Error, Object.keys(OPTIONS), 'shoal bench');
  }
}

function routeOf(text: string, model: string | undefined): URL {
  const url = serverUrl(text);
  // A whole route may be given, or where the server listens, which may be below a path of a proxy.
  if (url.pathname.endsWith('/predict') && model === undefined) return url;
  const route = model === undefined ? 'predict' : `models/${encodeURIComponent(model)}/predict`;
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${route}`;
  return url;
}
