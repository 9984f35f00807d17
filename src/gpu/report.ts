import { join } from 'node:path';
import { type DeviceName, DEVICES } from '../config/devices.js';
import type { Host } from './host.js';
import { installFolders, isComplete, readInstallRecord } from './installation.js';
import { findLibrary, toolkitFolders } from './libraries.js';
import { countGpus, driverVersion } from './nvidia.js';
import { type OtherVersion, otherVersions } from './other-versions.js';
import { type ProviderLibrary, providerLibraries } from './provider-libraries.js';
import { CUDA_PROVIDER, onnxRuntimeVersion } from './runtime-files.js';
import type { NvidiaGpu } from './smi.js';
import { findVulkan, needsOwnDriverFile, VULKAN_LOADER, type VulkanDriver } from './vulkan.js';
import { deviceIndexes, findProvider, whyNot } from './why-not.js';

/** Everything that decides which devices can be used. Absent parts are `undefined` or empty. */
export interface GpuReport {
  readonly system: string;
  readonly onnxRuntime: string;
  readonly cacheFolder: string;
  readonly nvidia: {
    readonly driver: string | undefined;
    readonly libcuda: string | undefined;
    readonly gpuCount: number;
    /** From nvidia-smi; none without it. */
    readonly gpus: readonly NvidiaGpu[];
    readonly hasSmi: boolean;
  };
  readonly cuda: {
    readonly installed: InstalledCuda | undefined;
    readonly others: readonly OtherVersion[];
    readonly provider: string | undefined;
    readonly libraries: readonly ProviderLibrary[];
    readonly toolkits: readonly string[];
  };
  readonly vulkan: {
    readonly loader: string | undefined;
    readonly drivers: readonly VulkanDriver[];
    /** NVIDIA's driver would not work as it is; engines get a driver file of their own. */
    readonly needsOwnDriverFile: boolean;
  };
  readonly amd: { readonly hasKernelDriver: boolean; readonly rocm: string | undefined };
  readonly devices: readonly DeviceFinding[];
}

export interface InstalledCuda {
  readonly folder: string;
  readonly isComplete: boolean;
  readonly bytes: number;
  readonly wheels: readonly { readonly name: string; readonly version: string }[];
}

export interface DeviceFinding {
  readonly device: DeviceName;
  readonly canBeTried: boolean;
  readonly indexes: readonly number[];
  readonly whyNot: string | undefined;
}

/** Looks for all of it and never fails because something is not there. */
export async function findGpus(
  host: Host,
  cacheFolder: string,
  askSmi: () => Promise<readonly NvidiaGpu[] | undefined>,
): Promise<GpuReport> {
  const gpus = await askSmi();
  const vulkan = findVulkan(host);
  const ownLoader = join(cacheFolder, VULKAN_LOADER);
  return {
    system: `${host.platform} ${host.arch}`,
    onnxRuntime: onnxRuntimeVersion(),
    cacheFolder,
    nvidia: {
      driver: driverVersion(host) ?? gpus?.[0]?.driver,
      libcuda: findLibrary(host, 'libcuda.so.1'),
      gpuCount: Math.max(countGpus(host), gpus?.length ?? 0),
      gpus: gpus ?? [],
      hasSmi: gpus !== undefined,
    },
    cuda: {
      installed: installedCuda(host, cacheFolder),
      others: otherVersions(host, cacheFolder),
      provider: findProvider(host, cacheFolder, CUDA_PROVIDER),
      libraries: await providerLibraries(host, cacheFolder),
      toolkits: toolkitFolders(host),
    },
    vulkan: {
      loader: host.exists(ownLoader) ? ownLoader : findLibrary(host, VULKAN_LOADER),
      drivers: vulkan.drivers,
      needsOwnDriverFile: needsOwnDriverFile(vulkan),
    },
    amd: {
      hasKernelDriver: host.exists('/dev/kfd') || host.exists('/sys/module/amdgpu'),
      rocm: host.exists('/opt/rocm') ? '/opt/rocm' : undefined,
    },
    devices: DEVICES.map((device) => {
      const reason = whyNot(device, cacheFolder, host);
      const canBeTried = reason === undefined;
      const indexes = canBeTried ? deviceIndexes(device, host) : [];
      return { device, canBeTried, indexes, whyNot: reason };
    }),
  };
}

function installedCuda(host: Host, cacheFolder: string): InstalledCuda | undefined {
  const record = readInstallRecord(host, cacheFolder);
  if (record === undefined) return undefined;
  return {
    folder: installFolders(host, cacheFolder).root,
    isComplete: isComplete(host, cacheFolder),
    bytes: record.files.reduce((sum, { bytes }) => sum + bytes, 0),
    wheels: record.wheels,
  };
}
