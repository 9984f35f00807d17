import { basename, dirname } from 'node:path';
import type { Host } from '../host.js';
import { findLibrary, findSystemLibrary } from '../libraries.js';
import type { Specifier } from '../wheels/specifier.js';
import { parseVersion } from '../wheels/version.js';

/**
 * Whether the machine has all libraries of a wheel already, in a version that fits.
 * @returns their folders, as far as the loader must be told of them
 */
export function foldersOnMachine(
  host: Host,
  libraries: readonly string[],
  wanted: readonly Specifier[],
): string[] | undefined {
  const folders = new Set<string>();
  for (const name of libraries) {
    const path = findLibrary(host, name);
    if (path === undefined || !isFitting(basename(host.realPath(path)), wanted)) return undefined;
    if (findSystemLibrary(host, name) !== path) folders.add(dirname(path));
  }
  return [...folders];
}

/** The name of a library says which version of CUDA it is for; that of the file behind it, more. */
function isFitting(file: string, wanted: readonly Specifier[]): boolean {
  const text = /\.so\.(\d+(?:\.\d+)+)$/.exec(file)?.[1];
  const version = text === undefined ? undefined : parseVersion(text);
  return version === undefined || wanted.every((specifier) => specifier.allows(version));
}
