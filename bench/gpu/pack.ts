import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative, sep } from 'node:path';
import { modelPath } from '../engine-config.js';
import { benchImages } from '../images.js';
import type { GpuOptions } from './options.js';
import { type Lock, neededPackages } from './packages.js';

/** Jobs, and what is only run when packages are installed or logs are for people. */
const LEFT_OUT = [
  '@photostructure/sqlite',
  'bullmq',
  'ioredis',
  'pino-pretty',
  'adm-zip',
  'global-agent',
  'cmake-js',
  'node-addon-api',
];
const FOLDERS = ['dist', 'dist-bench', 'models', 'examples'];
const HERE = `${process.platform}-${process.arch}`;

/**
 * Makes a folder with all that the server and this benchmark need on a machine like this one that
 * has Node and nothing else.
 */
export async function pack(
  root: string,
  target: string,
  { images, packsFp16 }: Pick<GpuOptions, 'images' | 'packsFp16'>,
): Promise<void> {
  if (existsSync(target)) throw new Error(`${target} is there already`);
  mkdirSync(target, { recursive: true });
  try {
    for (const folder of FOLDERS) copy(join(root, folder), join(target, folder));
    if (!packsFp16) rmSync(modelPath(target, 'fp16'));
    cpSync(join(root, 'package.json'), join(target, 'package.json'));
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
    for (const path of neededPackages(lock, LEFT_OUT)) {
      // Packages for other platforms are in the lock file, but not here.
      if (existsSync(join(root, path))) copy(join(root, path), join(target, path));
    }
    mkdirSync(join(target, 'photos'));
    for (const [at, photo] of (await benchImages(images)).entries()) {
      writeFileSync(join(target, 'photos', `${String(at).padStart(3, '0')}.jpg`), photo);
    }
  } catch (error) {
    rmSync(target, { recursive: true, force: true });
    throw error;
  }
}

function copy(from: string, to: string): void {
  cpSync(from, to, {
    recursive: true,
    dereference: true,
    filter: (path) => isNeeded(relative(from, path), from),
  });
}

/** @param path inside a package or folder */
function isNeeded(path: string, from: string): boolean {
  // Nested packages are in the lock file themselves.
  if (path.split(sep).includes('node_modules')) return false;
  if (/\.(map|md|markdown|d\.[cm]?ts|tsbuildinfo)$/i.test(path)) return false;
  if (from.endsWith(`${sep}examples`)) return true;
  const [first = '', second = ''] = path.split(sep);
  if (/^(test|tests|__tests__|benchmarks?|docs?|examples?|\.github)$/.test(first)) return false;
  switch (basename(from)) {
    case 'onnxruntime-node':
      return ['', 'dist', 'package.json', 'bin'].includes(first) && isForHere(path);
    case 'jpeg-turbo':
      return first !== 'deps' && (second === '' || second === `jpeg-turbo-${HERE}`);
    default:
      return true;
  }
}

/** Of `bin/napi-v6/linux/x64` and its siblings, only ours. */
function isForHere(path: string): boolean {
  const [top, , platform, arch] = path.split(sep);
  if (top !== 'bin') return true;
  return (
    (platform === undefined || platform === process.platform) &&
    (arch === undefined || arch === process.arch)
  );
}
