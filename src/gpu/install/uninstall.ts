import { readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Host } from '../host.js';
import { installFolders } from '../installation.js';
import { withLock } from './lock.js';

/**
 * Removes what was installed, for all versions of ONNX Runtime, and what broken-off attempts left.
 * @returns the bytes that are free again
 */
export async function uninstallCuda(
  host: Host,
  cacheFolder: string,
  onWait: (pid: number | undefined) => void,
): Promise<number> {
  const { root, downloads } = installFolders(host, cacheFolder);
  const gpu = dirname(root);
  const names = await readdir(gpu).catch(() => []);
  if (names.length === 0) return 0;
  return withLock(join(gpu, 'install.lock'), onWait, async (checkHeld) => {
    const folders = [
      ...(await readdir(gpu))
        .filter((name) => name.startsWith('cuda-'))
        .map((name) => join(gpu, name)),
      downloads,
    ];
    let freed = 0;
    for (const folder of folders) {
      freed += await bytesIn(folder);
      await checkHeld();
      // The record first: half of an installation must not look like a whole one.
      await rm(join(folder, 'installed.json'), { force: true });
      await rm(folder, { recursive: true, force: true });
    }
    return freed;
  });
}

async function bytesIn(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = files
    .filter((file) => file.isFile())
    .map(async (file) => (await stat(join(file.parentPath, file.name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
