import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readEnvironment } from '../config/environment.js';
import { ConfigError, loadConfig } from '../config/load.js';
import { OPTIONS } from '../config/options.js';
import { fileOnly } from '../config/problems.js';
import type { Config } from '../config/schema.js';
import type { Role } from '../http/app.js';
import { startServer } from '../server.js';
import { createLog, isPretty } from '../telemetry/log.js';
import { usageError } from './arguments.js';
import { banner, listeningLine } from './banner.js';
import { NOT_OF_WORKERS, optionsOf, serveHelp, workerHelp } from './help.js';
import { handleSignals } from './signals.js';

/** `shoal serve`: runs until a signal ends it. */
export async function serve(args: string[]): Promise<void> {
  const parsed = parseServeArgs(args);
  if (parsed === 'help') console.log(serveHelp());
  else await run(readConfig(parsed), 'server');
}

/** `shoal worker`: the same without an API. */
export async function work(args: string[]): Promise<void> {
  const parsed = parseServeArgs(args, 'shoal worker', NOT_OF_WORKERS);
  if (parsed === 'help') {
    console.log(workerHelp());
    return;
  }
  const config = readConfig(parsed);
  if (!/^rediss?:/.test(config.queue)) {
    throw new ConfigError(
      'workers share a queue with servers: say which with --queue redis://… (or SHOAL_QUEUE)',
    );
  }
  await run(Object.freeze({ ...config, worker: true }), 'worker');
}

async function run(config: Config, role: Role): Promise<void> {
  const log = createLog(config);
  const setServer = handleSignals(log);
  const server = await startServer(config, log, role);
  setServer(server);
  log.flush();
  if (isPretty(config.log_format)) console.log(banner(server));
  else log.info(listeningLine(server), 'listening');
}

interface ServeArgs {
  readonly flags: Record<string, string | boolean>;
  readonly file: string | undefined;
  readonly path: string | undefined;
}

/** @param left settings that the command does not have */
export function parseServeArgs(
  args: string[],
  command = 'shoal serve',
  left: readonly string[] = [],
): ServeArgs | 'help' {
  const settable = optionsOf(left);
  const options = Object.fromEntries(
    settable.map(({ flag, kind }) => [
      flag,
      { type: kind === 'boolean' ? ('boolean' as const) : ('string' as const) },
    ]),
  );
  let parsed;
  try {
    parsed = parseArgs({
      args,
      allowPositionals: true,
      allowNegative: true,
      options: { ...options, config: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
    });
  } catch (error) {
    const { message } = error as Error;
    const found = OPTIONS.find(({ flag }) => message.includes(`option '--${flag}'`));
    if (found?.isFileOnly === true) throw fileOnly(found, `--${found.flag}`);
    const flags = ['config', 'help', ...settable.map(({ flag }) => flag)];
    throw usageError(error as Error, flags, command);
  }
  const { help, config: file, ...values } = parsed.values as Record<string, string | boolean>;
  if (help === true) return 'help';
  const [path] = parsed.positionals;
  if (path !== undefined && /^(\d+|serve)$/.test(path)) {
    throw new ConfigError(
      `"${path}" is not a model; with npm, options follow two dashes: npm start -- --port 9000`,
    );
  }
  if (parsed.positionals.length > 1) {
    throw new ConfigError(`give one model or one folder of models; see ${command} --help`);
  }
  const flags = Object.fromEntries(
    Object.entries(values).map(([flag, value]) => [flag.replaceAll('-', '_'), value]),
  );
  return { flags, file: file as string | undefined, path };
}

function readConfig({ flags, file, path }: ServeArgs): Config {
  const environment = readEnvironment();
  const config = loadConfig({ environment, flags, ...(file === undefined ? {} : { file }) });
  return path === undefined
    ? config
    : Object.freeze({ ...config, models: [{ path: resolve(path) }] });
}
