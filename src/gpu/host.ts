import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { type Environment, readEnvironment } from '../config/environment.js';

/** What of this machine is looked at to find GPUs and their libraries. Tests make up their own. */
export interface Host {
  readonly platform: NodeJS.Platform;
  readonly arch: string;
  readonly environment: Environment;
  exists(path: string): boolean;
  /** In bytes; `undefined` where there is no such file. */
  size(path: string): number | undefined;
  /** Names in a folder; none where there is no such folder. */
  list(folder: string): readonly string[];
  /** Text; `undefined` where it cannot be read. */
  read(path: string): string | undefined;
  readBytes(path: string): Buffer | undefined;
  /** Behind all links; the path itself where there is none. */
  realPath(path: string): string;
}

export function thisHost(): Host {
  return {
    platform: process.platform,
    arch: process.arch,
    environment: readEnvironment(),
    exists: existsSync,
    size: (path) => attempt(() => statSync(path).size, undefined),
    list: (folder) => attempt(() => readdirSync(folder).sort(), []),
    read: (path) => attempt(() => readFileSync(path, 'utf8'), undefined),
    readBytes: (path) => attempt(() => readFileSync(path), undefined),
    realPath: (path) => attempt(() => realpathSync(path), path),
  };
}

function attempt<T>(action: () => T, otherwise: T): T {
  try {
    return action();
  } catch {
    return otherwise;
  }
}
