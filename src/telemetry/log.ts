import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Logger, pino } from 'pino';
import type { Config } from '../config/schema.js';
import { LogOutput, type LogSink } from './log-output.js';

export type Log = Pick<Logger, 'error' | 'warn' | 'info' | 'debug'>;

export function isPretty(format: Config['log_format']): boolean {
  return format === 'pretty' || (format === 'auto' && process.stdout.isTTY);
}

/** One JSON object per line on standard output, or readable lines on a terminal. */
export function createLog(config: Pick<Config, 'log_level' | 'log_format'>): Logger {
  const options = { level: config.log_level, base: null, timestamp, formatters: { level } };
  const format = isPretty(config.log_format) ? createPrettyFormat() : undefined;
  const output = new LogOutput(standardOutput(), format);
  if (outputs.push(output) === 1) {
    process.once('exit', () => {
      for (const each of outputs) each.end();
    });
  }
  return pino(options, output);
}

function standardOutput(): LogSink {
  const fd = openStandardOutput();
  return {
    write: (bytes) => writeSync(fd, bytes),
    sleep: (ms) => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    },
  };
}

/**
 * A pipe or terminal is opened once more, as one that refuses what it has no room for. Whether the
 * first one does is shared with other processes, and changes whenever one is started.
 */
function openStandardOutput(): number {
  const { fd } = process.stdout;
  const stat = fstatSync(fd);
  // A file has room, and its end is known only to the first; sockets cannot be opened.
  if (!stat.isFIFO() && !stat.isCharacterDevice()) return fd;
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
  try {
    return openSync(`/proc/self/fd/${String(fd)}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    return fd;
  }
}

const outputs: LogOutput[] = [];
let toldDropped = 0;

/** Lines that this process has left out since it was asked last. */
export function takeDroppedLines(): number {
  const dropped = outputs.reduce((sum, output) => sum + output.dropped, 0);
  const untold = dropped - toldDropped;
  toldDropped = dropped;
  return untold;
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

function createPrettyFormat(): (line: string) => string {
  // Loaded only here: a server that logs JSON does without its memory and start-up time.
  const require = createRequire(import.meta.url);
  const { prettyFactory } = require('pino-pretty') as typeof import('pino-pretty');
  return prettyFactory({
    colorize: process.stdout.isTTY,
    translateTime: 'SYS:HH:MM:ss.l',
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
