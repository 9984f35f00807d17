import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/**
 * Makes a folder and those above it that are missing, level by level: Node's own way tries for ever
 * where nothing can be made in a folder that is there, as in `/proc`.
 * @throws when there is no such folder afterwards
 */
export async function makeFolder(path: string, mode?: number): Promise<void> {
  for (const folder of await missingFolders(resolve(path))) {
    await mkdir(folder, mode).catch(ignoreExisting);
  }
  if (!(await stat(path)).isDirectory()) throw new Error('it is not a folder');
}

/** Outermost first. */
async function missingFolders(path: string): Promise<string[]> {
  const missing: string[] = [];
  for (let folder = path; !(await exists(folder)); folder = dirname(folder)) {
    missing.unshift(folder);
    if (dirname(folder) === folder) break;
  }
  return missing;
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** Others may make the same folder. */
function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
