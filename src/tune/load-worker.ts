/** The process behind `LoadGenerator`. */
import { runClosedLoop } from '../load/closed-loop.js';
import type { LoadRun } from '../load/load-result.js';
import { runOpenLoop } from '../load/open-loop.js';
import { PreparedRequest } from '../load/prepared-request.js';
import { locate } from '../load/target.js';
import type { LoadJob, LoadOrder, LoadReply, Photos } from './load-generator.js';

/** As long as a server waits by default: here clients are patient, and slowness is what is measured. */
const TIMEOUT_MS = 30_000;

let photos: Photos | undefined;

async function carryOut({ url, ...job }: LoadJob, { images, form }: Photos): Promise<LoadRun> {
  const target = await locate(new URL(url));
  const shape = { host: target.host, path: '/predict', form };
  const [first, ...more] = images.map((image) => new PreparedRequest(Buffer.from(image), shape));
  if (first === undefined) throw new Error('there are no photos');
  const options = { target, requests: [first, ...more], timeoutMs: TIMEOUT_MS } as const;
  return job.kind === 'closed'
    ? runClosedLoop({ ...options, ...job })
    : runOpenLoop({ ...options, ...job });
}

async function obey(order: LoadOrder): Promise<LoadReply> {
  if ('photos' in order) {
    photos = order.photos;
    return { result: null };
  }
  if (photos === undefined) return { problem: 'there are no photos' };
  try {
    return { result: (await carryOut(order.job, photos)).result };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

process.on('message', (order: LoadOrder) => {
  void obey(order).then((reply) => process.send?.(reply));
});
process.on('disconnect', () => {
  process.exit();
});
// Ctrl-C reaches the whole group; the process that gives the orders decides what it means.
process.on('SIGINT', () => undefined);
