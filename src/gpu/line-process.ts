import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Environment } from '../config/environment.js';

export interface LineEvents {
  onLine(line: string): void;
  /** Once, and last: nothing of it is left. */
  onEnd(): void;
}

export interface LineProcess {
  stop(): void;
}

const SHELL = '/bin/sh';
/**
 * Runs a command and kills it when its own input closes, which happens when the server ends,
 * however that is. It holds no end of the command's output, so that this closes with the command.
 */
const GUARD = '"$@" </dev/null & child=$!; exec >&-; read -r _; kill -KILL "$child"; wait "$child"';
/** What has no end is no line. */
const MAX_LINE = 4096;

/**
 * Starts a command that writes lines for as long as it is let. It does not outlive this process,
 * not even when it is stuck and would never notice that nobody reads any more.
 */
export function startLines(
  command: string,
  args: readonly string[],
  events: LineEvents,
): LineProcess {
  const isGuarded = existsSync(SHELL);
  const [file, all] = isGuarded
    ? [SHELL, ['-c', GUARD, 'sh', command, ...args]]
    : [command, [...args]];
  const child = spawn(file, all, { stdio: ['pipe', 'pipe', 'ignore'], windowsHide: true });
  const stop = (): void => {
    if (isGuarded) child.stdin.end();
    else child.kill('SIGKILL');
  };
  let hasEnded = false;
  const end = (): void => {
    if (!hasEnded) events.onEnd();
    hasEnded = true;
  };
  child.stdin.on('error', () => undefined);
  child.stdout.on('error', () => undefined);
  child.stdout.setEncoding('utf8').on('data', lineSplitter(events));
  // The command has ended; without this its guard would stay.
  child.stdout.on('close', stop);
  child.on('close', end);
  child.on('error', () => {
    // Without a process id it was never started, and there may be no other event.
    if (child.pid === undefined) end();
  });
  return { stop };
}

export function lineSplitter({ onLine }: Pick<LineEvents, 'onLine'>): (chunk: string) => void {
  let rest = '';
  return (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE) rest = '';
    for (const line of lines) onLine(line.replace(/\r$/, ''));
  };
}

export function findOnPath(
  name: string,
  { PATH: path = '' }: Environment,
  platform: NodeJS.Platform = process.platform,
): string | undefined {
  const file = platform === 'win32' ? `${name}.exe` : name;
  return path
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, file))
    .find((candidate) => existsSync(candidate));
}
