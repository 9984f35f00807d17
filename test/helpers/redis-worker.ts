import { createInterface } from 'node:readline';
import { openRedisStore } from '../../src/jobs/redis/open.js';
import { LIMITS } from './jobs.js';
import { SILENT } from './redis-store.js';

/**
 * A process that takes one job after the other and says so. Each line that it reads is the verdict
 * for the job that it has: `completed` or `failed`.
 */
const [url = '', prefix = ''] = process.argv.slice(2);
const store = await openRedisStore({ url, prefix, limits: LIMITS, log: SILENT });
const input = createInterface({ input: process.stdin });

const consumer = store.consume({
  model: 'm',
  slots: 1,
  run: async ({ job, cancellation }) => {
    console.log(`claimed ${job.id} ${String(job.losses)}`);
    cancellation.listen(() => {
      console.log(`lost ${job.id}`);
    });
    const kind = await new Promise<string>((resolve) => input.once('line', resolve));
    return kind === 'completed'
      ? { kind, results: [{ detections: [], inference_ms: 1 }] }
      : { kind: 'failed', problem: { code: 'model_failed', detail: 'It does not like it.' } };
  },
});

input.once('close', () => {
  void consumer.close().then(async () => {
    await store.close();
    console.log('closed');
  });
});
console.log('ready');
