import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { SMI_FORMAT, smiFields, smiNumber } from './smi-csv.js';

export interface NvidiaGpu {
  readonly index: number;
  readonly name: string;
  readonly driver: string;
  /** Some share the memory of the machine and say nothing about it. */
  readonly totalBytes?: number;
  readonly usedBytes?: number;
}

const QUERY = ['index', 'name', 'driver_version', 'memory.total', 'memory.used'];
const MiB = 2 ** 20;
const TIMEOUT_MS = 10_000;

/** What nvidia-smi says; `undefined` where it is not there or does not work. */
export async function askNvidiaSmi(): Promise<readonly NvidiaGpu[] | undefined> {
  const args = [`--query-gpu=${QUERY.join(',')}`, SMI_FORMAT];
  try {
    const { stdout } = await promisify(execFile)('nvidia-smi', args, { timeout: TIMEOUT_MS });
    return parseSmi(stdout);
  } catch {
    return undefined;
  }
}

export function parseSmi(text: string): NvidiaGpu[] {
  return text.split('\n').flatMap((line) => {
    const [at, name = '', driver = '', total, used] = smiFields(line, QUERY.length) ?? [];
    const index = smiNumber(at);
    if (index === undefined) return [];
    const [totalMiB, usedMiB] = [smiNumber(total), smiNumber(used)];
    return [
      {
        index,
        name,
        driver,
        ...(totalMiB !== undefined && { totalBytes: totalMiB * MiB }),
        ...(usedMiB !== undefined && { usedBytes: usedMiB * MiB }),
      },
    ];
  });
}
