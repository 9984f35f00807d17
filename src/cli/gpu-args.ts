import { parseArgs } from 'node:util';
import { ConfigError } from '../config/load.js';
import { usageError } from './arguments.js';

export interface GpuArgs {
  readonly action: 'show' | 'install' | 'uninstall';
  readonly cacheDir: string | undefined;
  readonly isJson: boolean;
  readonly isDryRun: boolean;
  readonly isAll: boolean;
  readonly indexUrl: string | undefined;
  readonly extraIndexUrls: readonly string[] | undefined;
}

const OPTIONS = {
  'cache-dir': { type: 'string' },
  json: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  all: { type: 'boolean' },
  'index-url': { type: 'string' },
  'extra-index-url': { type: 'string', multiple: true },
  help: { type: 'boolean', short: 'h' },
} as const;
const FOR_INSTALL = ['dry-run', 'all', 'index-url', 'extra-index-url'] as const;

/** @throws ConfigError that names the flag */
export function parseGpuArgs(args: string[]): GpuArgs | 'help' {
  const { values, positionals } = parse(args);
  if (values.help === true) return 'help';
  const action = actionOf(positionals);
  const stray = FOR_INSTALL.find((flag) => values[flag] !== undefined);
  if (action !== 'install' && stray !== undefined) {
    throw new ConfigError(`--${stray} is for shoal gpu install cuda`);
  }
  if (action !== 'show' && values.json === true) throw new ConfigError('--json is for shoal gpu');
  return {
    action,
    cacheDir: values['cache-dir'],
    isJson: values.json === true,
    isDryRun: values['dry-run'] === true,
    isAll: values.all === true,
    indexUrl: values['index-url'],
    extraIndexUrls: values['extra-index-url'],
  };
}

function actionOf([action, what, ...more]: readonly string[]): GpuArgs['action'] {
  if (action === undefined) return 'show';
  if (action !== 'install' && action !== 'uninstall') {
    throw new ConfigError(`there is no command "gpu ${action}"; see shoal gpu --help`);
  }
  if (what !== 'cuda' || more.length > 0) {
    throw new ConfigError(`say shoal gpu ${action} cuda; there is nothing else to ${action}`);
  }
  return action;
}

// The result's type follows from the options.
// eslint-disable-next-line @typescript-eslint/explicit-function-return-type
function parse(args: string[]) {
  try {
    return parseArgs({ args, allowPositionals: true, options: OPTIONS });
  } catch (error) {
    throw usageError(error as Error, Object.keys(OPTIONS), 'shoal gpu');
  }
}
