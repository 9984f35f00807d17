import { descendantsOf, rssBytes } from '../processes.js';
import type { BenchServer } from '../server.js';
import { type Context, forEach, mainDevices } from './context.js';
import { eventLoopP99Ms } from './exposition.js';
import { LoadGroup } from './load-group.js';
import { nvidia } from './machine.js';
import { fullLoad, serveOn } from './serve.js';

const SLICE_SECONDS = 10;
const MIB = 2 ** 20;

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
        gpuBytes: await gpuBytes(server),
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

/** By the server where it says so, or by the driver. */
async function gpuBytes(server: BenchServer): Promise<number | null> {
  const { gpus } = await server.fetchJson<{ gpus?: unknown }>('/health');
  const used = (Array.isArray(gpus) ? (gpus as Record<string, unknown>[]) : []).map(
    (gpu) => gpu['memory_used_bytes'],
  );
  const own = used.filter((bytes) => typeof bytes === 'number');
  if (own.length > 0) return own.reduce((sum, bytes) => sum + bytes, 0);
  const lines = nvidia('memory.used').map(Number);
  return lines.length === 0 ? null : lines.reduce((sum, one) => sum + one, 0) * MIB;
}
