import { askNvidiaSmi, type NvidiaGpu } from '../../src/gpu/smi.js';
import { descendantsOf, rssBytes } from '../processes.js';
import type { BenchServer } from '../server.js';
import { type Context, forEach, mainDevices } from './context.js';
import { eventLoopP99Ms } from './exposition.js';
import { LoadGroup } from './load-group.js';
import type { GpuMemory } from './results.js';
import { fullLoad, serveOn } from './serve.js';

const SLICE_SECONDS = 10;

/** Full load for minutes: what grows shows. */
export async function soak(context: Context): Promise<void> {
  const { options, results, save, tell } = context;
  const concurrency = fullLoad(options);
  const total = options.seconds.soak;
  await forEach(context, 'soak', mainDevices(options).slice(0, 1), String, async (device) => {
    const server = await serveOn(context, device);
    const load = await LoadGroup.start(context, server.port, 'raw', concurrency);
    const seconds = Math.min(SLICE_SECONDS, total / 3);
    for (let at = 0; at + seconds <= total + 0.01; at += seconds) {
      const found = await load.closed(concurrency, seconds);
      results.soak.push({
        device,
        atSeconds: at + seconds,
        perSecond: found.perSecond,
        failed: found.failed + found.refused,
        rssBytes: memoryOf(server),
        ...(await gpuMemory(server)),
        eventLoopP99Ms: eventLoopP99Ms(await server.metrics()),
      });
      tell(`  ${device}, ${(at + seconds).toFixed(0)} s: ${found.perSecond.toFixed(0)}/s`);
      save();
    }
    load.stop();
    await server.stop();
  });
}

function memoryOf({ httpPid }: BenchServer): number {
  return [httpPid, ...descendantsOf(httpPid)].reduce((sum, pid) => sum + sizeOf(pid), 0);
}

function sizeOf(pid: number): number {
  try {
    return rssBytes(pid);
  } catch {
    return 0;
  }
}

async function gpuMemory(server: BenchServer): Promise<GpuMemory> {
  const { gpus } = await server.fetchJson<{ gpus?: unknown }>('/health');
  const reported = Array.isArray(gpus) ? (gpus as Record<string, unknown>[]) : [];
  return reportedMemory(reported) ?? usedMemory((await askNvidiaSmi()) ?? []);
}

/** What the server holds itself, where it knows that of all its GPUs; else what is in use there. */
export function reportedMemory(
  gpus: readonly Readonly<Record<string, unknown>>[],
): GpuMemory | undefined {
  const own = numbers(gpus.map((gpu) => gpu['memory_own_bytes']));
  if (own.length > 0 && own.length === gpus.length)
    return { gpuBytes: sum(own), gpuBytesOf: 'own' };
  const used = numbers(gpus.map((gpu) => gpu['memory_used_bytes']));
  return used.length === 0 ? undefined : { gpuBytes: sum(used), gpuBytesOf: 'all' };
}

/** By the driver. */
export function usedMemory(gpus: readonly NvidiaGpu[]): GpuMemory {
  const used = numbers(gpus.map(({ usedBytes }) => usedBytes));
  return used.length === 0
    ? { gpuBytes: null, gpuBytesOf: null }
    : { gpuBytes: sum(used), gpuBytesOf: 'all' };
}

function numbers(values: readonly unknown[]): number[] {
  return values.filter((value) => typeof value === 'number');
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
