import { createInterface } from 'node:readline/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Screen } from '../bench-progress.js';

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Rejects when the signal is set off. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** From 0 to 1. */
  random(): number;
}

/** What surrounds the command; tests have their own. */
export interface JobsContext {
  /** For results. */
  readonly out: NodeJS.WritableStream;
  /** For everything that is told meanwhile. */
  readonly err: Screen;
  readonly clock: Clock;
  /** Ctrl-C. */
  readonly interrupt: AbortSignal;
  /** Only where somebody can be asked. */
  readonly ask?: (question: string) => Promise<string>;
}

export function processContext(interrupt: AbortSignal): JobsContext {
  const clock: Clock = {
    now: Date.now,
    sleep: (ms, signal) => sleep(ms, undefined, { signal }),
    random: Math.random,
  };
  const { stdin, stdout: out, stderr: err } = process;
  const isAttended = stdin.isTTY && err.isTTY;
  const ask = async (question: string): Promise<string> => {
    // Not a terminal to readline, so that Ctrl-C stays a signal.
    const lines = createInterface({ input: stdin, output: err, terminal: false });
    try {
      return await lines.question(question, { signal: interrupt });
    } finally {
      lines.close();
    }
  };
  return { out, err, clock, interrupt, ...(isAttended && { ask }) };
}
