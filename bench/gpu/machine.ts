import { readFileSync } from 'node:fs';
import { cpus, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { askNvidiaSmi, type NvidiaGpu } from '../../src/gpu/smi.js';
import { type Context, CORES } from './context.js';

const MIB = 2 ** 20;
const PACKAGES = ['onnxruntime-node', '@julusian/jpeg-turbo', 'sharp', 'fastify'];

export async function describeMachine({ root, results, save }: Context): Promise<void> {
  const version = (name: string): string => {
    const path = join(root, 'node_modules', name, 'package.json');
    return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
  };
  results.machine = {
    cpu: cpus()[0]?.model ?? 'unknown CPU',
    cores: CORES,
    memoryBytes: totalmem(),
    node: process.version,
    system: `${type()} ${release()}`,
    gpus: ((await askNvidiaSmi()) ?? []).map(gpuText),
    packages: Object.fromEntries(PACKAGES.map((name) => [name, version(name)])),
  };
  save();
}

/** Without the unit, which the page writes behind it. */
export function gpuText({ name, driver, totalBytes }: NvidiaGpu): string {
  return [name, driver, totalBytes === undefined ? '?' : String(totalBytes / MIB)].join(', ');
}
