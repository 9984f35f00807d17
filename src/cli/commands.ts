import { ConfigError } from '../config/load.js';
import { VERSION } from '../version.js';
import { generalHelp } from './help.js';

type Command = (args: string[]) => Promise<void>;

/** Loaded when they are called: a client need not load a server. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./serve.js')).serve,
  worker: async () => (await import('./serve.js')).work,
  jobs: async () => (await import('./jobs/command.js')).jobs,
  bench: async () => (await import('./bench.js')).bench,
  tune: async () => (await import('./tune.js')).tune,
  gpu: async () => (await import('./gpu.js')).gpu,
};

/** Runs one command. What goes wrong is one line and a non-zero exit code. */
export async function runCommand([name = '--help', ...args]: string[]): Promise<void> {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  try {
    if (command !== undefined) await (await command())(args);
    else if (name === '--version' || name === '-v') console.log(VERSION);
    else if (name === '--help' || name === '-h') console.log(generalHelp());
    else throw new ConfigError(`there is no command "${name}"; see shoal --help`);
  } catch (error) {
    const isUsage = error instanceof ConfigError;
    console.error(`shoal: ${oneLine(error)}`);
    process.exit(isUsage ? 2 : 1);
  }
}

function oneLine(error: unknown): string {
  const { code, message, port, address, hostname } = error as NodeJS.ErrnoException & {
    port?: number;
    address?: string;
    hostname?: string;
  };
  // Others have the same codes, such as a folder that cannot be written to.
  if (port !== undefined) {
    if (code === 'EADDRINUSE') return `port ${String(port)} is in use; choose another with --port`;
    if (code === 'EACCES') return `port ${String(port)} needs more rights; choose one above 1023`;
  }
  const host = address ?? hostname;
  if (host !== undefined && (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')) {
    return `this machine has no address ${host}; choose another with --host`;
  }
  return message.replaceAll(/\s*\n\s*/g, ' ');
}
