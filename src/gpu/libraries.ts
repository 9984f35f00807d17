import type { Host } from './host.js';

/** Where the loader looks by itself, whatever the distribution. */
const SYSTEM_FOLDERS = ['/usr/lib64', '/lib64', '/usr/lib', '/lib', '/usr/local/lib'];
const TRIPLETS: Readonly<Record<string, string>> = {
  x64: 'x86_64-linux-gnu',
  arm64: 'aarch64-linux-gnu',
};
/** Where drivers are put in containers and in WSL, often unknown to the loader. */
const DRIVER_FOLDERS = ['/usr/local/nvidia/lib64', '/usr/local/nvidia/lib', '/usr/lib/wsl/lib'];

/** Folders in a variable such as `LD_LIBRARY_PATH`. */
export function foldersIn(variable: string | undefined): string[] {
  return (variable ?? '').split(':').filter((folder) => folder !== '');
}

export function driverFolders(host: Host): string[] {
  return DRIVER_FOLDERS.filter((folder) => host.exists(folder));
}

/** Libraries of a CUDA toolkit that is installed for the whole machine, the newest first. */
export function toolkitFolders(host: Host): string[] {
  const versions = host
    .list('/usr/local')
    .filter((name) => /^cuda(-[\d.]+)?$/.test(name))
    .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
  const folders = versions.flatMap((name) => [
    `/usr/local/${name}/lib64`,
    `/usr/local/${name}/targets/${host.arch === 'arm64' ? 'sbsa' : 'x86_64'}-linux/lib`,
  ]);
  // Most of these are links to the same folder.
  const seen = new Set<string>();
  return folders.filter((folder) => {
    const real = host.realPath(folder);
    if (!host.exists(folder) || seen.has(real)) return false;
    seen.add(real);
    return true;
  });
}

/** Whether the loader finds it without being told where. */
export function findSystemLibrary(host: Host, name: string): string | undefined {
  return cachedPath(host, name) ?? findIn(host, name, systemFolders(host));
}

/** A shared library of the machine, by its full name, where an engine could load it from. */
export function findLibrary(host: Host, name: string): string | undefined {
  return (
    findIn(host, name, foldersIn(host.environment['LD_LIBRARY_PATH'])) ??
    findSystemLibrary(host, name) ??
    findIn(host, name, [...driverFolders(host), ...toolkitFolders(host)])
  );
}

export function findIn(host: Host, name: string, folders: readonly string[]): string | undefined {
  return folders.map((folder) => `${folder}/${name}`).find((path) => host.exists(path));
}

function systemFolders({ arch }: Host): string[] {
  const triplet = TRIPLETS[arch];
  const own = triplet === undefined ? [] : [`/usr/lib/${triplet}`, `/lib/${triplet}`];
  return [...own, ...SYSTEM_FOLDERS];
}

/** The loader's own index is binary, but holds every path as plain text that ends with a zero. */
function cachedPath(host: Host, name: string): string | undefined {
  const index = host.readBytes('/etc/ld.so.cache') ?? Buffer.alloc(0);
  const end = Buffer.from(`/${name}\0`);
  for (let at = index.indexOf(end); at >= 0; at = index.indexOf(end, at + 1)) {
    const path = index.toString('utf8', index.lastIndexOf(0, at) + 1, at + end.length - 1);
    // It also lists libraries of other architectures, and some that were removed.
    if (path.startsWith('/') && !path.includes('/i386-') && host.exists(path)) return path;
  }
  return undefined;
}
