import type { Device } from '../config/devices.js';
import { type Host, thisHost } from './host.js';
import { installFolders, readInstallRecord } from './installation.js';
import { driverFolders, foldersIn, toolkitFolders } from './libraries.js';
import { findVulkan, needsOwnDriverFile, vulkanFolders, writeDriverFile } from './vulkan.js';

/** What an engine for this device needs in its environment beyond that of the server. */
export function deviceEnvironment(
  device: Device,
  cacheFolder: string,
  host: Host = thisHost(),
): Readonly<Record<string, string>> {
  if (host.platform !== 'linux') return {};
  switch (device.name) {
    case 'cuda':
    case 'tensorrt':
      return {
        // As everybody else counts GPUs, and not the fastest first.
        CUDA_DEVICE_ORDER: host.environment['CUDA_DEVICE_ORDER'] ?? 'PCI_BUS_ID',
        ...libraryPath(host, cudaFolders(host, cacheFolder)),
      };
    case 'webgpu':
      return {
        ...libraryPath(host, vulkanFolders(host, cacheFolder)),
        ...vulkanDriver(host, cacheFolder),
      };
    default:
      return {};
  }
}

/**
 * The runtime in our folder wins over the one of the package, since only the former has providers
 * beside it. Libraries of the machine come last: those that were installed are known to fit.
 */
function cudaFolders(host: Host, cacheFolder: string): string[] {
  const record = readInstallRecord(host, cacheFolder);
  if (record === undefined) return [...toolkitFolders(host), ...driverFolders(host)];
  const { runtime, nvidia } = installFolders(host, cacheFolder);
  return [runtime, nvidia, ...record.machineFolders, ...driverFolders(host)];
}

function libraryPath(host: Host, folders: readonly string[]): Record<string, string> {
  if (folders.length === 0) return {};
  const all = [...folders, ...foldersIn(host.environment['LD_LIBRARY_PATH'])];
  return { LD_LIBRARY_PATH: [...new Set(all)].join(':') };
}

function vulkanDriver(host: Host, cacheFolder: string): Record<string, string> {
  if (!needsOwnDriverFile(findVulkan(host))) return {};
  const path = writeDriverFile(cacheFolder);
  // The old name of the variable is the one that every loader knows.
  return path === undefined ? {} : { VK_ICD_FILENAMES: path };
}
