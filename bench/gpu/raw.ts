import { existsSync } from 'node:fs';
import type { DeviceName } from '../../src/config/devices.js';
import { deviceEnvironment } from '../../src/gpu/device-environment.js';
import {
  engineConfig,
  type Loop,
  MODEL_FILES,
  modelPath,
  type ModelPrecision,
} from '../engine-config.js';
import { runChild } from './child.js';
import { type Context, CORES, forEach } from './context.js';
import type { RawRow } from './results.js';

/** What the process that runs the loop is told. */
export interface RawJob {
  readonly root: string;
  readonly engine: ReturnType<typeof engineConfig>;
  readonly batches: readonly number[];
  readonly seconds: number;
}

export type RawMeasured = Pick<RawRow, 'batch' | 'perSecond' | 'p50Ms' | 'cpuMsPerImage'>;

/** A large batch on a CPU takes seconds and shows nothing. */
const MAX_CPU_BATCH = 8;

/** Sessions alone: the most that a device can do, by batch size. */
export async function measureRaw(context: Context): Promise<void> {
  const { root, options, results, save, tell } = context;
  const loops = options.devices.flatMap((device) => loopsOn(device, context));
  await forEach(context, 'raw', loops, nameOf, async (loop) => {
    const { device, precision, sessions, threads } = loop;
    const batches = options.batches.filter((batch) => batch <= loop.maxBatch);
    const job: RawJob = {
      root,
      engine: engineConfig(root, loop),
      batches,
      seconds: options.seconds.raw,
    };
    await runChild<RawMeasured>(context, {
      script: './raw-process.js',
      job,
      env: deviceEnvironment(device, context.cacheDir),
      onRow: (row) => {
        results.raw.push({ device: device.name, precision, sessions, threads, ...row });
        tell(`  ${nameOf(loop)}, batch ${String(row.batch)}: ${row.perSecond.toFixed(0)}/s`);
        save();
      },
    });
  });
}

function loopsOn(name: DeviceName, { root, cacheDir, options }: Context): Loop[] {
  const [first = 1] = options.batches;
  const largest = Math.max(...options.batches);
  const maxBatch = name === 'cpu' ? Math.min(largest, Math.max(MAX_CPU_BATCH, first)) : largest;
  const precisions = (Object.keys(MODEL_FILES) as ModelPrecision[]).filter(
    (precision) =>
      existsSync(modelPath(root, precision)) && (name !== 'cpu' || precision === 'fp32'),
  );
  const fixed = { device: { name, index: 0 }, cacheFolder: cacheDir, maxBatch };
  return precisions.flatMap((precision) =>
    splitsOf(name).map(([sessions, threads]) => ({ ...fixed, precision, sessions, threads })),
  );
}

/** Sessions × threads. On a GPU there is little for threads to do. */
function splitsOf(name: DeviceName): readonly (readonly [sessions: number, threads: number])[] {
  if (name === 'cpu')
    return [
      [1, CORES],
      [CORES, 1],
    ];
  // Two sessions of any other in one process end in device errors.
  return name === 'cuda'
    ? [
        [1, 1],
        [2, 1],
      ]
    : [[1, 1]];
}

function nameOf({ device, precision, sessions, threads }: Loop): string {
  return `${device.name} ${precision}, ${String(sessions)} × ${String(threads)}`;
}
