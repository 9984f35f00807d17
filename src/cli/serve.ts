import { parseArgs } from 'node:util';
import { readEnvironment } from '../config/environment.js';
import { ConfigError, loadConfig } from '../config/load.js';
import { OPTIONS } from '../config/options.js';
import type { Config } from '../config/schema.js';
import { startServer } from '../server.js';
import { createLog, isPretty } from '../telemetry/log.js';
import { banner, listeningLine } from './banner.js';
import { serveHelp } from './help.js';
import { handleSignals } from './signals.js';

/** `shoal serve`: runs until a signal ends it. */
export async function serve(args: string[]): Promise<void> {
  const parsed = parseServeArgs(args);
  if (parsed === 'help') {
    console.log(serveHelp());
    return;
  }
  const config = readConfig(parsed);
  const log = createLog(config);
  const setServer = handleSignals(log);
  const server = await startServer(config, log);
  setServer(server);
  if (isPretty(config.log_format)) console.log(banner(server));
  else log.info(listeningLine(server), 'listening');
}

interface ServeArgs {
  readonly flags: Record<string, string | boolean>;
  readonly file: string | undefined;
  readonly path: string | undefined;
}

export function parseServeArgs(args: string[]): ServeArgs | 'help' {
  const settable = OPTIONS.filter(({ isFileOnly }) => !isFileOnly);
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
      options: { ...options, config: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
    });
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split(/\. |\n/);
    throw new ConfigError(`${sentence}; see shoal serve --help`);
  }
  const { help, config: file, ...values } = parsed.values as Record<string, string | boolean>;
  if (help === true) return 'help';
  if (parsed.positionals.length > 1) {
    throw new ConfigError('give one model or one folder of models; see shoal serve --help');
  }
  const flags = Object.fromEntries(
    Object.entries(values).map(([flag, value]) => [flag.replaceAll('-', '_'), value]),
  );
  return { flags, file: file as string | undefined, path: parsed.positionals[0] };
}

function readConfig({ flags, file, path }: ServeArgs): Config {
  const environment = readEnvironment();
  const config = loadConfig({ environment, flags, ...(file === undefined ? {} : { file }) });
  return path === undefined ? config : Object.freeze({ ...config, models: [{ path }] });
}
