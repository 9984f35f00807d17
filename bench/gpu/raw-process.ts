/** The raw loop in a process of its own: sessions on threads, batch size after batch size. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { percentile } from '../report.js';
import type { RawJob, RawMeasured } from './raw.js';

const [job] = (await once(process, 'message')) as [RawJob];
const workers = await Promise.all(
  Array.from({ length: job.engine.plan.sessions }, async () => {
    const worker = new Worker(new URL('./raw-worker.js', import.meta.url), { workerData: job });
    await once(worker, 'message');
    return worker;
  }),
);

async function measure(batch: number, seconds: number): Promise<number[][]> {
  return Promise.all(
    workers.map(async (worker) => {
      worker.postMessage({ batch, seconds });
      const [times] = (await once(worker, 'message')) as [number[]];
      return times;
    }),
  );
}

for (const batch of job.batches) {
  // The first runs of a size allocate, and some devices compile.
  await measure(batch, 0);
  const cpu = process.cpuUsage();
  const started = performance.now();
  const times = (await measure(batch, job.seconds)).flat();
  const elapsed = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const images = times.length * batch;
  const row: RawMeasured = {
    batch,
    perSecond: images / elapsed,
    p50Ms: percentile(times, 50),
    cpuMsPerImage: (user + system) / 1000 / images,
  };
  process.send?.(row);
}
process.send?.('done');
