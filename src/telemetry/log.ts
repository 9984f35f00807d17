import { createRequire } from 'node:module';
import { destination, type Logger, pino } from 'pino';
import type { Config } from '../config/schema.js';

export type Log = Pick<Logger, 'error' | 'warn' | 'info' | 'debug'>;

export function isPretty(format: Config['log_format']): boolean {
  return format === 'pretty' || (format === 'auto' && process.stdout.isTTY);
}

/** One JSON object per line on standard output, or readable lines on a terminal. */
export function createLog(config: Pick<Config, 'log_level' | 'log_format'>): Logger {
  const options = { level: config.log_level, base: null };
  if (!isPretty(config.log_format)) {
    // Written synchronously: a line costs some microseconds, and none is lost.
    return pino(
      { ...options, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level } },
      destination({ fd: 1, sync: true }),
    );
  }
  // Loaded only here: a server that logs JSON does without its memory and start-up time.
  const require = createRequire(import.meta.url);
  const { PinoPretty } = require('pino-pretty') as typeof import('pino-pretty');
  return pino(
    options,
    PinoPretty({ colorize: process.stdout.isTTY, translateTime: 'SYS:HH:MM:ss.l', sync: true }),
  );
}

function level(label: string): { level: string } {
  return { level: label };
}
