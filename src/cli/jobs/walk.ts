import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ConfigError } from '../../config/load.js';

const IMAGE_NAME = /\.(jpe?g|png|webp)$/i;

export interface Walk {
  /** As given: files, or folders that are searched for images. */
  readonly paths: readonly string[];
  readonly onUnreadable?: (folder: string, error: Error) => void;
}

/**
 * The images, one after another and sorted; never a list of all. What several of the paths cover
 * comes once. Links to folders are not followed, since they can lead in circles.
 */
export async function* walk({ paths, onUnreadable }: Walk): AsyncGenerator<string> {
  const firstAt = new Map<string, number>();
  paths.forEach((path, at) => {
    if (!firstAt.has(resolve(path))) firstAt.set(resolve(path), at);
  });
  for (const [at, path] of paths.entries()) {
    const isFolder = (await look(path)).isDirectory();
    for await (const file of isFolder ? imagesIn(path, onUnreadable) : [path]) {
      if (!isCovered(resolve(file), at, firstAt)) yield file;
    }
  }
}

/** Whether a path that was given earlier is this file or a folder above it. */
function isCovered(file: string, at: number, firstAt: ReadonlyMap<string, number>): boolean {
  for (let path = file; ; path = dirname(path)) {
    if ((firstAt.get(path) ?? at) < at) return true;
    if (path === dirname(path)) return false;
  }
}

async function look(path: string): Promise<{ isDirectory(): boolean }> {
  try {
    return await stat(path);
  } catch (error) {
    throw new ConfigError(`cannot read ${path}: ${(error as Error).message}`);
  }
}

async function* imagesIn(
  folder: string,
  onUnreadable: Walk['onUnreadable'],
): AsyncGenerator<string> {
  for (const entry of await entriesOf(folder, onUnreadable)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* imagesIn(path, onUnreadable);
    else if (IMAGE_NAME.test(entry.name) && (entry.isFile() || (await isLinkToFile(path, entry)))) {
      yield path;
    }
  }
}

async function entriesOf(
  folder: string,
  onUnreadable: Walk['onUnreadable'],
): Promise<readonly Dirent[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .map((entry) => ({ entry, key: entry.isDirectory() ? `${entry.name}/` : entry.name }))
      .sort((a, b) => (a.key < b.key ? -1 : 1))
      .map(({ entry }) => entry);
  } catch (error) {
    onUnreadable?.(folder, error as Error);
    return [];
  }
}

async function isLinkToFile(path: string, entry: Dirent): Promise<boolean> {
  if (!entry.isSymbolicLink()) return false;
  const target = await stat(path).catch(() => undefined);
  return target?.isFile() === true;
}

export async function countOf(items: AsyncGenerator): Promise<number> {
  let count = 0;
  while ((await items.next()).done !== true) count++;
  return count;
}

/** Neighbours, so many at a time. */
export async function* groupsOf<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let group: T[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
