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

// The result's type follows from the options.
// eslint-disable-next-line @typescript-eslint/explicit-function-return-type
export function parseFor<T extends Options>(command: string, options: T, args: string[]) {
  const all = { ...COMMON, ...options };
  try {
    return parseArgs({ args, allowPositionals: true, options: all });
  } catch (error) {
    throw usageError(error as Error, Object.keys(all), `shoal jobs ${command}`);
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
