import { basename, dirname, join } from 'node:path';
import type { Host } from './host.js';
import { installFolders, readRecord } from './installation.js';
import { onnxRuntimeVersion } from './runtime-files.js';

/** What was installed for another version of ONNX Runtime. Other checkouts may use it. */
export interface OtherVersion {
  readonly version: string;
  readonly folder: string;
  readonly bytes: number;
}

/** For this kind of machine; those of others that share the folder are none of our business. */
export function otherVersions(host: Host, cacheFolder: string): OtherVersion[] {
  const { root, record } = installFolders(host, cacheFolder);
  const [before = '', after = ''] = basename(root).split(onnxRuntimeVersion());
  return host.list(dirname(root)).flatMap((name) => {
    const version = name.slice(before.length, -after.length);
    const folder = join(dirname(root), name);
    if (folder === root || name !== `${before}${version}${after}`) return [];
    const files = readRecord(host, join(folder, basename(record)))?.files;
    if (files === undefined) return [];
    return [{ version, folder, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0) }];
  });
}
