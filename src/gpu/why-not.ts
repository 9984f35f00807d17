import { join } from 'node:path';
import type { DeviceName } from '../config/devices.js';
import { type Host, thisHost } from './host.js';
import { installFolders, readInstallRecord } from './installation.js';
import { findIn, findLibrary } from './libraries.js';
import { countGpus, visibleIndexes } from './nvidia.js';
import { otherVersions } from './other-versions.js';
import {
  CUDA_PROVIDER,
  onnxRuntimeVersion,
  packageLibraries,
  TENSORRT_PROVIDER,
} from './runtime-files.js';
import { findVulkan, VULKAN_LOADER } from './vulkan.js';

/**
 * Why a device cannot even be tried here and what to do about it, in one line; `undefined` when it
 * is worth a try. Cheap: it looks at files and starts nothing.
 */
export function whyNot(
  device: DeviceName,
  cacheFolder: string,
  host: Host = thisHost(),
): string | undefined {
  switch (device) {
    case 'cpu':
      return undefined;
    case 'cuda':
      return whyNotNvidia(host) ?? whyNoProvider(host, cacheFolder, CUDA_PROVIDER);
    case 'tensorrt':
      return (
        whyNotNvidia(host) ??
        whyNoProvider(host, cacheFolder, TENSORRT_PROVIDER) ??
        whyNoTensorRt(host)
      );
    case 'webgpu':
      return whyNotVulkan(host, cacheFolder);
    case 'coreml':
      return host.platform === 'darwin' ? undefined : 'CoreML is there on macOS only';
    case 'dml':
      return host.platform === 'win32' ? undefined : 'DirectML is there on Windows only';
  }
}

/** Which GPUs there are for a device, as the device itself counts them. */
export function deviceIndexes(device: DeviceName, host: Host = thisHost()): number[] {
  if (device !== 'cuda' && device !== 'tensorrt') return [0];
  return visibleIndexes(countGpus(host), host.environment['CUDA_VISIBLE_DEVICES']);
}

/** Where a provider that can be loaded lies: installed by us, or beside the package's runtime. */
export function findProvider(host: Host, cacheFolder: string, name: string): string | undefined {
  const { runtime } = installFolders(host, cacheFolder);
  const own = readInstallRecord(host, cacheFolder) === undefined ? [] : [runtime];
  return findIn(host, name, [...own, packageLibraries(host)]);
}

function whyNotNvidia(host: Host): string | undefined {
  if (host.platform !== 'linux') return 'CUDA is used on Linux only';
  if (findLibrary(host, 'libcuda.so.1') === undefined) {
    return 'the NVIDIA driver is not installed (no libcuda.so.1)';
  }
  if (countGpus(host) === 0) return 'there is no NVIDIA GPU here; give the container one';
  if (deviceIndexes('cuda', host).length === 0) return 'CUDA_VISIBLE_DEVICES hides all GPUs';
  return undefined;
}

function whyNoProvider(host: Host, cacheFolder: string, name: string): string | undefined {
  if (findProvider(host, cacheFolder, name) !== undefined) return undefined;
  const others = otherVersions(host, cacheFolder).map(({ version }) => version);
  return others.length === 0
    ? 'the CUDA provider is not installed; run shoal gpu install cuda'
    : `the CUDA provider is installed for ${others.join(', ')}, not for ${onnxRuntimeVersion()}; run shoal gpu install cuda`;
}

/** Its libraries are large and do not come with the provider. */
function whyNoTensorRt(host: Host): string | undefined {
  return findLibrary(host, 'libnvinfer.so.10') === undefined
    ? 'TensorRT is not installed (no libnvinfer.so.10); install it from NVIDIA'
    : undefined;
}

function whyNotVulkan(host: Host, cacheFolder: string): string | undefined {
  if (host.platform !== 'linux') return undefined;
  const isThere =
    host.exists(join(cacheFolder, VULKAN_LOADER)) || findLibrary(host, VULKAN_LOADER) !== undefined;
  if (!isThere) return 'there is no Vulkan loader (libvulkan.so.1); install the package libvulkan1';
  const { isSet, hasEglDriver, drivers } = findVulkan(host);
  return isSet || hasEglDriver || drivers.length > 0
    ? undefined
    : 'there is no Vulkan driver; install that of the GPU (mesa-vulkan-drivers, or NVIDIA’s)';
}
