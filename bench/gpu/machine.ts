import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { type Context, CORES } from './context.js';

const PACKAGES = ['onnxruntime-node', '@julusian/jpeg-turbo', 'sharp', 'fastify'];

export function describeMachine({ root, results, save }: Context): Promise<void> {
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
    gpus: nvidia('name,driver_version,memory.total'),
    packages: Object.fromEntries(PACKAGES.map((name) => [name, version(name)])),
  };
  save();
  return Promise.resolve();
}

/** A line per GPU; none where there is no NVIDIA driver. */
export function nvidia(query: string): string[] {
  try {
    const args = [`--query-gpu=${query}`, '--format=csv,noheader,nounits'];
    const options = { encoding: 'utf8', timeout: 10_000 } as const;
    const text = execFileSync('nvidia-smi', args, {
      ...options,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return text.split('\n').filter(Boolean);
  } catch {
    return [];
  }
}
