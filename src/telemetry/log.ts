import { createRequire } from 'node:module';
import { destination, type Logger, pino } from 'pino';
import type { Config } from '../config/schema.js';

export type Log = Pick<Logger, 'error' | 'warn' | 'info' | 'debug'>;

export function isPretty(format: Config['log_format']): boolean {
  return format === 'pretty' || (format === 'auto' && process.stdout.isTTY);
}

/** One JSON object per line on standard output, or readable lines on a terminal. */
export function createLog(config: Pick<Config, 'log_level' | 'log_format'>): Logger {
  const options = { level: config.log_level, base: null, timestamp, formatters: { level } };
  // Written synchronously: a line costs some microseconds, and none is lost.
  const output = isPretty(config.log_format)
    ? createPrettyOutput()
    : destination({ fd: 1, sync: true });
  return pino(options, output);
}

let eventTime: number | undefined;

/** Lines that `write` writes are about something that happened at this time. */
export function logAt(epochMs: number, write: () => void): void {
  eventTime = epochMs;
  try {
    write();
  } finally {
    eventTime = undefined;
  }
}

function timestamp(): string {
  return `,"time":"${new Date(eventTime ?? Date.now()).toISOString()}"`;
}

function level(label: string): { level: string } {
  return { level: label };
}

function createPrettyOutput(): NodeJS.WritableStream {
  // Loaded only here: a server that logs JSON does without its memory and start-up time.
  const require = createRequire(import.meta.url);
  const { PinoPretty } = require('pino-pretty') as typeof import('pino-pretty');
  return PinoPretty({
    colorize: process.stdout.isTTY,
    translateTime: 'SYS:HH:MM:ss.l',
    sync: true,
    singleLine: true,
    // What the line says already.
    ignore: 'method,route,status,total_ms,request_id,outcome,model',
    messageFormat: (line, messageKey) =>
      line['route'] === undefined
        ? String(line[messageKey])
        : ['method', 'route', 'status', 'total_ms'].map((key) => String(line[key])).join(' ') +
          ' ms',
  });
}
