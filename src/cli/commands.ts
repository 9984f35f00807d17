import { ConfigError } from '../config/load.js';
import { VERSION } from '../version.js';
import { bench } from './bench.js';
import { generalHelp } from './help.js';
import { jobs } from './jobs/command.js';
import { serve, work } from './serve.js';
import { tune } from './tune.js';

const COMMANDS: Readonly<Record<string, (args: string[]) => Promise<void>>> = {
  serve,
  worker: work,
  bench,
  tune,
  jobs,
};

/** Runs one command. What goes wrong is one line and a non-zero exit code. */
export async function runCommand([name = '--help', ...args]: string[]): Promise<void> {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  try {
    if (command !== undefined) await command(args);
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
  const { code, message, port, address } = error as NodeJS.ErrnoException & {
    port?: number;
    address?: string;
  };
  if (code === 'EADDRINUSE') return `port ${String(port)} is in use; choose another with --port`;
  if (code === 'EACCES') return `port ${String(port)} needs more rights; choose one above 1023`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return `this machine has no address ${String(address)}; choose another with --host`;
  }
  return message.replaceAll(/\s*\n\s*/g, ' ');
}
