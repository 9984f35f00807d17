import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Context } from './context.js';

export interface ChildJob<Row> {
  /** A file beside this one. */
  readonly script: string;
  readonly job: unknown;
  readonly env?: Readonly<Record<string, string>>;
  readonly onRow: (row: Row) => void;
}

const STDERR_CHARACTERS = 4000;
const TAIL_CHARACTERS = 400;
/** Where Node writes what it was about, between much else. */
const ERROR_LINE = /^\s*(?:\w*Error|FATAL ERROR|shoal): .*/m;

/**
 * Runs a script in a process of its own, which sends its rows one by one and then `done`. It is
 * killed after that: leaving in good order would run the exit code of libraries, which may crash.
 */
export function runChild<Row>({ children }: Context, child: ChildJob<Row>): Promise<void> {
  const forked = fork(fileURLToPath(new URL(child.script, import.meta.url)), {
    env: { ...process.env, ORT_DISABLE_TELEMETRY: '1', ...child.env },
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  children.add(forked);
  let errors = '';
  forked.stderr?.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-STDERR_CHARACTERS);
  });
  return new Promise((resolve, reject) => {
    forked.on('message', (message: Row | 'done') => {
      if (message !== 'done') {
        child.onRow(message);
        return;
      }
      resolve();
      forked.kill('SIGKILL');
    });
    forked.once('error', reject);
    forked.once('close', (code, signal) => {
      reject(new Error(`ended with ${signal ?? String(code)}: ${reasonIn(errors)}`));
    });
    forked.send(child.job as object);
  });
}

/** One line of what a process wrote before it died. */
export function reasonIn(text: string): string {
  return (ERROR_LINE.exec(text)?.[0] ?? text.slice(-TAIL_CHARACTERS)).trim();
}
