import { createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { pipeline } from 'node:stream/promises';

/** What a plan is made for. */
export interface Machine {
  /** The cores this process may really use: a container's CPU quota counts, too. */
  readonly cores: number;
  /** The memory it may really use. */
  readonly memoryBytes: number;
  /** Two machines of the same name give the same measurements. */
  readonly name: string;
}

export function thisMachine(): Machine {
  const cores = Math.max(1, Math.min(availableParallelism(), Math.floor(cpuQuota() ?? Infinity)));
  const memoryBytes = Math.min(totalmem(), memoryLimit() ?? Infinity);
  const cpu = cpus()[0]?.model.trim() ?? 'unknown CPU';
  const gibibytes = Math.round(memoryBytes / 2 ** 30);
  const platform = `${process.platform}-${process.arch}`;
  const name = `${cpu}, ${String(cores)} cores, ${String(gibibytes)} GiB, ${platform}`;
  return { cores, memoryBytes, name };
}

function cpuQuota(): number | undefined {
  const [quota, period] = numbersIn('/sys/fs/cgroup/cpu.max');
  const cores = (quota ?? Number.NaN) / (period ?? Number.NaN);
  return Number.isFinite(cores) ? Math.max(1, cores) : undefined;
}

/** Of a container, where there is one. */
function memoryLimit(): number | undefined {
  const bytes = process.constrainedMemory();
  return bytes > 0 ? bytes : undefined;
}

function numbersIn(path: string): number[] {
  try {
    return readFileSync(path, 'utf8').trim().split(' ').map(Number);
  } catch {
    return [];
  }
}

/** Another version may be faster or slower. */
export function runtimeVersion(): string {
  const require = createRequire(import.meta.url);
  const { version } = require('onnxruntime-node/package.json') as { version: string };
  return `onnxruntime ${version}`;
}

/** SHA-256 of a file of any size, without holding up the event loop. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 2 ** 20 }), hash);
  return hash.digest('hex');
}
