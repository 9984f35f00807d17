import type { Host } from '../../src/gpu/host.js';

interface FakeHostOptions {
  readonly platform?: NodeJS.Platform;
  readonly arch?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  /** Of files that are larger than what is made up of them. */
  readonly sizes?: Readonly<Record<string, number>>;
  readonly links?: Readonly<Record<string, string>>;
}

/** A machine that has just these files, and the folders that they lie in. */
export function fakeHost({
  platform = 'linux',
  arch = 'x64',
  environment = {},
  files = {},
  sizes = {},
  links = {},
}: FakeHostOptions = {}): Host {
  const paths = Object.keys(files);
  const inside = (folder: string): string[] =>
    paths
      .filter((path) => path.startsWith(`${folder}/`))
      .map((path) => path.slice(folder.length + 1).split('/')[0] ?? '');
  return {
    platform,
    arch,
    environment,
    exists: (path) => Object.hasOwn(files, path) || inside(path).length > 0,
    size: (path) => sizes[path] ?? files[path]?.length,
    list: (folder) => [...new Set(inside(folder))].sort(),
    read: (path) => files[path],
    readBytes: (path) => (files[path] === undefined ? undefined : Buffer.from(files[path])),
    realPath: (path) => links[path] ?? path,
  };
}

/** A driver and two GPUs. */
export const NVIDIA_FILES: Readonly<Record<string, string>> = {
  '/usr/lib/x86_64-linux-gnu/libcuda.so.1': '',
  '/proc/driver/nvidia/version':
    'NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.82.07  Wed Aug 27 16:35:22 UTC 2025\n',
  '/proc/driver/nvidia/gpus/0000:01:00.0/information': '',
  '/proc/driver/nvidia/gpus/0000:02:00.0/information': '',
};
