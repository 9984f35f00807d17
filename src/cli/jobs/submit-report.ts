import { DEFAULT_URL } from '../arguments.js';
import { count } from '../words.js';
import type { Tally } from './progress-text.js';
import { span } from './span.js';
import type { SubmitArgs } from './submit-args.js';

/** The last line when everything was sent, and followed where that was asked for. */
export function summaryText(
  tally: Tally,
  { isWaiting, connection }: Pick<SubmitArgs, 'isWaiting' | 'connection'>,
  ms: number,
): string {
  const { submitted, done, failed, refused } = tally;
  const head = `${count(submitted + refused, 'image')} in ${span(ms)}`;
  if (isWaiting) return `${head}: ${String(done)} done, ${String(failed + refused)} failed`;
  return (
    `${head}: ${String(submitted)} submitted, ${String(refused)} failed; ` +
    `see them with: ${listCommand(connection.url)}`
  );
}

export interface Unfinished {
  readonly tally: Tally;
  readonly args: Pick<SubmitArgs, 'isWaiting' | 'connection'>;
  readonly runKey: string;
}

export function interruptedText(state: Unfinished): string {
  return `Interrupted. ${remaining(state)}`;
}

/** Before the line that says why. */
export function stoppedText(state: Unfinished): string {
  return `Not finished. ${remaining(state)}`;
}

/** What the server still does by itself, how to see it, and how to go on. */
function remaining({ tally, args, runKey }: Unfinished): string {
  const { total, submitted, done, failed } = tally;
  const { isWaiting, connection } = args;
  const sent = `${String(submitted)} of ${count(total, 'image')} had been submitted`;
  const open = submitted - done - failed;
  const left = isWaiting ? `; ${String(open)} of them have not ended, as far as is known` : '';
  return (
    `${sent}${left}.\n` +
    `  to see them: ${listCommand(connection.url)}\n` +
    `  to go on: the same command with --resume-key ${runKey}`
  );
}

function listCommand(url: URL): string {
  const isDefault = url.origin === new URL(DEFAULT_URL).origin && url.pathname === '/';
  return `shoal jobs list${isDefault ? '' : ` --url ${url.href.replace(/\/$/, '')}`}`;
}
