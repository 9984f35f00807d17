import { basename, dirname, join, resolve } from 'node:path';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import type { Host } from './host.js';
import { GPU_FOLDER } from './installation.js';
import { findLibrary, findSystemLibrary } from './libraries.js';

export const VULKAN_LOADER = 'libvulkan.so.1';
const EGL_DRIVER = 'libEGL_nvidia.so.0';
/** What NVIDIA's usual driver file names. It needs the libraries of a screen that servers lack. */
const GLX_DRIVER = 'libGLX_nvidia.so.0';
const SCREEN_LIBRARIES = ['libX11.so.6', 'libXext.so.6'];
const ICD_FOLDERS = [
  '/etc/vulkan/icd.d',
  '/usr/share/vulkan/icd.d',
  '/usr/local/share/vulkan/icd.d',
  '/usr/local/etc/vulkan/icd.d',
];

/** A driver file ("installable client driver") that the Vulkan loader would read. */
export interface VulkanDriver {
  readonly path: string;
  /** The library that it names. */
  readonly library: string;
}

export interface VulkanFindings {
  /** Someone has said which drivers to use. */
  readonly isSet: boolean;
  readonly hasEglDriver: boolean;
  /** NVIDIA's usual driver and all that it needs are there. */
  readonly hasGlxDriver: boolean;
  readonly drivers: readonly VulkanDriver[];
}

/**
 * Without a screen NVIDIA's usual Vulkan driver fails, and WebGPU would find no GPU or a slow one
 * made of software, although the driver's other half works.
 */
export function needsOwnDriverFile({
  isSet,
  hasEglDriver,
  hasGlxDriver,
  drivers,
}: VulkanFindings): boolean {
  const works = drivers.some(({ library }) => {
    const name = basename(library);
    return name === EGL_DRIVER || (name === GLX_DRIVER && hasGlxDriver);
  });
  return hasEglDriver && !isSet && !works;
}

export function findVulkan(host: Host): VulkanFindings {
  const { VK_ICD_FILENAMES: old = '', VK_DRIVER_FILES: files = '' } = host.environment;
  return {
    isSet: old !== '' || files !== '',
    hasEglDriver: findLibrary(host, EGL_DRIVER) !== undefined,
    hasGlxDriver: [GLX_DRIVER, ...SCREEN_LIBRARIES].every(
      (name) => findLibrary(host, name) !== undefined,
    ),
    drivers: ICD_FOLDERS.flatMap((folder) =>
      host
        .list(folder)
        .filter((name) => name.endsWith('.json'))
        .map((name) => ({ path: join(folder, name), library: libraryIn(host, folder, name) })),
    ),
  };
}

/** The loader's folder, where it is not one that is searched anyway. */
export function vulkanFolders(host: Host, cacheFolder: string): string[] {
  const own = host.exists(join(cacheFolder, VULKAN_LOADER)) ? [resolve(cacheFolder)] : [];
  const driver = findLibrary(host, EGL_DRIVER);
  const isKnown = driver === undefined || findSystemLibrary(host, EGL_DRIVER) !== undefined;
  return isKnown ? own : [...own, dirname(driver)];
}

/** @returns the path of the driver file, or `undefined` where the folder cannot be written */
export function writeDriverFile(cacheFolder: string): string | undefined {
  const folder = join(resolve(cacheFolder), GPU_FOLDER);
  const path = join(folder, 'nvidia-headless-icd.json');
  const staged = `${path}.${String(process.pid)}`;
  const ICD = { library_path: EGL_DRIVER, api_version: '1.3.0' };
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(staged, JSON.stringify({ file_format_version: '1.0.0', ICD }));
    // Other engines may be reading it.
    renameSync(staged, path);
    return path;
  } catch {
    // It never changes, so that of an earlier start does.
    return existsSync(path) ? path : undefined;
  }
}

function libraryIn(host: Host, folder: string, name: string): string {
  try {
    const text = host.read(join(folder, name)) ?? '';
    const { ICD } = JSON.parse(text) as { ICD?: { library_path?: unknown } };
    return typeof ICD?.library_path === 'string' ? ICD.library_path : '';
  } catch {
    return '';
  }
}
