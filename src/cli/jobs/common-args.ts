import { parseArgs, type ParseArgsConfig } from 'node:util';
import { ConfigError } from '../../config/load.js';
import { JOB_ID } from '../../jobs/job.js';
import { DEFAULT_URL, number, sendableKey, serverUrl, usageError } from '../arguments.js';
import type { Connection } from './client.js';

type Options = NonNullable<ParseArgsConfig['options']>;

/** What every command of jobs takes. */
const COMMON = {
  url: { type: 'string', default: DEFAULT_URL },
  'api-key': { type: 'string' },
  timeout: { type: 'string', default: '30' },
  help: { type: 'boolean', short: 'h' },
} as const;

const MAX_SECONDS = 86_400;

interface Parsing<T extends Options> {
  args: string[];
  allowPositionals: true;
  options: typeof COMMON & T;
}

/** What it gives follows from the options. */
export function parseFor<T extends Options>(
  command: string,
  own: T,
  args: string[],
): ReturnType<typeof parseArgs<Parsing<T>>> {
  const options = { ...COMMON, ...own };
  try {
    return parseArgs<Parsing<T>>({ args, allowPositionals: true, options });
  } catch (error) {
    throw usageError(error as Error, Object.keys(options), `shoal jobs ${command}`);
  }
}

export function connectionOf(values: {
  readonly url: string;
  readonly 'api-key'?: string | undefined;
  readonly timeout: string;
}): Connection {
  return {
    url: serverUrl(values.url),
    apiKey: sendableKey(values['api-key']),
    timeoutMs: milliseconds('timeout', values.timeout, 0.1),
  };
}

export function milliseconds(flag: string, seconds: string, min: number): number {
  return number(flag, seconds, min, MAX_SECONDS) * 1000;
}

/** Before anything is sent: an id becomes part of an address. */
export function jobIds(texts: readonly string[]): readonly string[] {
  const wrong = texts.find((text) => !JOB_ID.test(text));
  if (wrong !== undefined) throw new ConfigError(`"${wrong}" is not the id of a job`);
  return texts;
}
