import { neededLibraries } from './elf.js';
import type { Host } from './host.js';
import { installFolders, readInstallRecord } from './installation.js';
import { findIn, findLibrary } from './libraries.js';
import { CUDA_PROVIDER } from './runtime-files.js';
import { findProvider } from './why-not.js';
import { LocalFile } from './zip/random-access.js';

export interface ProviderLibrary {
  readonly name: string;
  /** Where an engine would load it from; `undefined` when it would not find it. */
  readonly path: string | undefined;
}

/** What the CUDA provider is linked with, as far as it belongs to NVIDIA. None: no provider. */
export async function providerLibraries(
  host: Host,
  cacheFolder: string,
): Promise<readonly ProviderLibrary[]> {
  const provider = findProvider(host, cacheFolder, CUDA_PROVIDER);
  if (provider === undefined) return [];
  const file = await LocalFile.open(provider);
  try {
    const folders = libraryFolders(host, cacheFolder);
    // One that cannot be read is the probe's to judge.
    const needed = await neededLibraries(file).catch(() => []);
    const names = needed.filter((name) => /^lib(cu|nv)/.test(name));
    return names.map((name) => ({
      name,
      path: findIn(host, name, folders) ?? findLibrary(host, name),
    }));
  } finally {
    await file.close();
  }
}

function libraryFolders(host: Host, cacheFolder: string): string[] {
  const record = readInstallRecord(host, cacheFolder);
  if (record === undefined) return [];
  const { runtime, nvidia } = installFolders(host, cacheFolder);
  return [runtime, nvidia, ...record.machineFolders];
}
