/** Decoding on threads of a process of its own. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { DecodeJob } from './decode.js';
import type { DecodeRow } from './results.js';

const [job] = (await once(process, 'message')) as [DecodeJob];
const workers = await Promise.all(
  Array.from({ length: Math.max(...job.threads) }, async () => {
    const worker = new Worker(new URL('./decode-worker.js', import.meta.url), { workerData: job });
    await once(worker, 'message');
    return worker;
  }),
);

async function measure(threads: number, seconds: number): Promise<number> {
  const counts = await Promise.all(
    workers.slice(0, threads).map(async (worker) => {
      worker.postMessage(seconds);
      const [count] = (await once(worker, 'message')) as [number];
      return count;
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

// V8 has to see the resizing a few times before it is fast.
await measure(workers.length, Math.min(1, job.seconds));
for (const threads of job.threads) {
  const cpu = process.cpuUsage();
  const started = performance.now();
  const images = await measure(threads, job.seconds);
  const { user, system } = process.cpuUsage(cpu);
  const row: DecodeRow = {
    threads,
    perSecond: (images * 1000) / (performance.now() - started),
    cpuMsPerImage: (user + system) / 1000 / images,
  };
  process.send?.(row);
}
process.send?.('done');
