import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export interface NvidiaGpu {
  readonly index: number;
  readonly name: string;
  readonly driver: string;
  readonly totalBytes: number;
  readonly usedBytes: number;
}

const QUERY = ['index', 'name', 'driver_version', 'memory.total', 'memory.used'];
const TIMEOUT_MS = 10_000;

/** What nvidia-smi says; `undefined` where it is not there or does not work. */
export async function askNvidiaSmi(): Promise<readonly NvidiaGpu[] | undefined> {
  const args = [`--query-gpu=${QUERY.join(',')}`, '--format=csv,noheader,nounits'];
  try {
    const { stdout } = await promisify(execFile)('nvidia-smi', args, { timeout: TIMEOUT_MS });
    return parseSmi(stdout);
  } catch {
    return undefined;
  }
}

export function parseSmi(text: string): NvidiaGpu[] {
  return text.split('\n').flatMap((line) => {
    const [index = '', name = '', driver = '', total = '', used = ''] = line
      .split(',')
      .map((cell) => cell.trim());
    if (!/^\d+$/.test(index)) return [];
    const bytes = (mebibytes: string): number => (Number.parseFloat(mebibytes) || 0) * 2 ** 20;
    return [
      { index: Number(index), name, driver, totalBytes: bytes(total), usedBytes: bytes(used) },
    ];
  });
}
