import { runChild } from './child.js';
import { type Context, CORES, forEach } from './context.js';
import type { DecodeRow } from './results.js';

export interface DecodeJob {
  readonly images: readonly Uint8Array[];
  readonly width: number;
  readonly height: number;
  readonly threads: readonly number[];
  readonly seconds: number;
}

const SIDE = 300;

/** How many photos the cores decode, with the server's own code and nothing else to do. */
export async function measureDecode(context: Context): Promise<void> {
  const { results, save, tell } = context;
  const threads = threadCounts(CORES);
  await forEach(context, 'decode', [threads], String, async () => {
    await decodeRows(context, threads, (row) => {
      results.decode.push(row);
      tell(`  ${String(row.threads)} threads: ${row.perSecond.toFixed(0)}/s`);
      save();
    });
  });
}

/** The same for the numbers of threads that are wanted. */
export async function decodeRows(
  context: Context,
  threads: readonly number[],
  onRow?: (row: DecodeRow) => void,
): Promise<DecodeRow[]> {
  const { images, options } = context;
  const seconds = options.seconds.decode;
  const job: DecodeJob = { images, width: SIDE, height: SIDE, threads, seconds };
  const rows: DecodeRow[] = [];
  await runChild<DecodeRow>(context, {
    script: './decode-process.js',
    job,
    onRow: (row) => {
      rows.push(row);
      onRow?.(row);
    },
  });
  return rows;
}

/** 1, 2, 4 and so on, and all. */
export function threadCounts(cores: number): number[] {
  const counts: number[] = [];
  for (let count = 1; count < cores; count *= 2) counts.push(count);
  return [...counts, cores];
}
