import { join, resolve } from 'node:path';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Host } from './host.js';
import { driverFolders, findIn, findSystemLibrary } from './libraries.js';
import { onnxRuntimeVersion } from './runtime-files.js';

/** Where things are in the cache folder. */
export interface InstallFolders {
  /** Of this version and architecture only; there is nothing in it before it is complete. */
  readonly root: string;
  /** ONNX Runtime and its providers, side by side. */
  readonly runtime: string;
  /** NVIDIA's libraries. */
  readonly nvidia: string;
  readonly licences: string;
  /** What is installed. Whatever has none does not count. */
  readonly record: string;
  /** Downloads that are under way, kept for the next attempt. */
  readonly downloads: string;
}

/** Of the cache folder. */
export const GPU_FOLDER = 'gpu';

export function installFolders({ platform, arch }: Host, cacheFolder: string): InstallFolders {
  const gpu = join(resolve(cacheFolder), GPU_FOLDER);
  const root = join(gpu, `cuda-${onnxRuntimeVersion()}-${platform}-${arch}`);
  return {
    root,
    runtime: join(root, 'onnxruntime'),
    nvidia: join(root, 'nvidia'),
    licences: join(root, 'licences'),
    record: join(root, 'installed.json'),
    downloads: join(gpu, 'downloads'),
  };
}

const RecordSchema = Type.Object({
  format: Type.Literal(1),
  wheels: Type.Array(Type.Object({ name: Type.String(), version: Type.String() })),
  /** Folders of the machine with libraries that were therefore not downloaded. */
  machineFolders: Type.Array(Type.String()),
  machineLibraries: Type.Optional(Type.Array(Type.String())),
  files: Type.Array(Type.Object({ path: Type.String(), bytes: Type.Number() })),
});
const validator = Compile(RecordSchema);

export interface InstallRecord {
  readonly format: 1;
  readonly wheels: readonly { readonly name: string; readonly version: string }[];
  readonly machineFolders: readonly string[];
  /** What was not downloaded since the machine has it. Records of old do not say so. */
  readonly machineLibraries?: readonly string[];
  /** Relative to the folder. */
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
}

/** What was installed for this version of ONNX Runtime; `isComplete` says whether it still is. */
export function readInstallRecord(host: Host, cacheFolder: string): InstallRecord | undefined {
  return readRecord(host, installFolders(host, cacheFolder).record);
}

/** `undefined` where there is none, or none that is understood. */
export function readRecord(host: Host, path: string): InstallRecord | undefined {
  try {
    const record: unknown = JSON.parse(host.read(path) ?? '');
    return validator.Check(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether all files of the record are there and whole, and what was left out is still on the
 * machine: disks fill up, and people tidy up.
 */
export function isComplete(host: Host, cacheFolder: string): boolean {
  const { root } = installFolders(host, cacheFolder);
  const record = readInstallRecord(host, cacheFolder);
  if (record === undefined) return false;
  const { files, machineFolders, machineLibraries = [] } = record;
  // Where an engine looks, whatever the library path of the moment holds.
  const folders = [...machineFolders, ...driverFolders(host)];
  return (
    files.every(({ path, bytes }) => host.size(join(root, path)) === bytes) &&
    machineLibraries.every(
      (name) => (findIn(host, name, folders) ?? findSystemLibrary(host, name)) !== undefined,
    )
  );
}

/** Whether it is complete without the help of the machine, too. */
export function isSelfContained(host: Host, cacheFolder: string): boolean {
  const { machineFolders = [], machineLibraries = [] } = readInstallRecord(host, cacheFolder) ?? {};
  return isComplete(host, cacheFolder) && machineFolders.length + machineLibraries.length === 0;
}
