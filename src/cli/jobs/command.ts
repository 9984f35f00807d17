import { setMaxListeners } from 'node:events';
import { closestTo, ConfigError } from '../../config/load.js';
import { cancelJobs, purgeJobs, retryJobs } from './change.js';
import { type JobsContext, processContext } from './context.js';
import { JOBS_HELP, SUBMIT_HELP } from './help.js';
import {
  parseChangeArgs,
  parseListArgs,
  parsePurgeArgs,
  parseShowArgs,
  parseWaitArgs,
} from './manage-args.js';
import { isClosedPipe, write } from './output.js';
import { listJobs, showJobs, waitForJobs } from './read.js';
import { submitJobs } from './submit.js';
import { parseSubmitArgs } from './submit-args.js';

const INTERRUPTED = 130;

/** Gives the exit code, or the help that was asked for. */
type Subcommand = (args: string[], context: JobsContext) => Promise<number | string>;

function subcommand<T extends object>(
  parse: (args: string[]) => T | 'help',
  run: (args: T, context: JobsContext) => Promise<number>,
  help = JOBS_HELP,
): Subcommand {
  return async (args, context) => {
    const parsed = parse(args);
    return typeof parsed === 'string' ? help : run(parsed, context);
  };
}

const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  submit: subcommand(parseSubmitArgs, submitJobs, SUBMIT_HELP),
  list: subcommand(parseListArgs, listJobs),
  show: subcommand(parseShowArgs, showJobs),
  wait: subcommand(parseWaitArgs, waitForJobs),
  cancel: subcommand((args) => parseChangeArgs('cancel', ['queued', 'running'], args), cancelJobs),
  retry: subcommand(
    (args) => parseChangeArgs('retry', ['failed', 'cancelled', 'expired'], args),
    retryJobs,
  ),
  purge: subcommand(parsePurgeArgs, purgeJobs),
};

/** `shoal jobs`: a client of the routes of jobs. */
export async function jobs(args: string[]): Promise<void> {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const interrupt = (): void => {
    stop.abort();
  };
  // A second Ctrl-C finds no handler and ends the process.
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  // Whoever writes is told, too; unheard, these would end the process with a stack.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  try {
    process.exitCode = await runJobs(args, processContext(stop.signal));
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

/** @returns the exit code @throws what is one line for a person */
export async function runJobs(
  [name = '--help', ...args]: string[],
  context: JobsContext,
): Promise<number> {
  try {
    if (name === '--help' || name === '-h') {
      await write(context.out, `${JOBS_HELP}\n`);
      return 0;
    }
    const run = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined;
    if (run === undefined) throw unknownSubcommand(name);
    const result = await run(args, context);
    if (typeof result === 'number') return result;
    await write(context.out, `${result}\n`);
    return 0;
  } catch (error) {
    if (isClosedPipe(error)) return 0;
    if (context.interrupt.aborted) return INTERRUPTED;
    throw error;
  }
}

function unknownSubcommand(name: string): ConfigError {
  const close = closestTo(name, Object.keys(SUBCOMMANDS));
  const hint = close === undefined ? '' : `, did you mean ${close}?`;
  return new ConfigError(`there is no "shoal jobs ${name}"${hint}; see shoal jobs --help`);
}
