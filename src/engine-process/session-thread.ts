/**
 * A worker thread of a pipelined engine that owns a session and does nothing but run it, batch
 * after batch, in the order in which they come.
 */
import { parentPort, type Transferable, workerData } from 'node:worker_threads';
import { bucketFor } from './buckets.js';
import { inferBatch } from './infer.js';
import type { SessionAnswer, SessionTask, SessionThreadConfig } from './pipeline-messages.js';
import { partsOf, plainOutputs, postParts } from './ran-parts.js';
import { describeEnd } from './run-errors.js';
import { loadRuntime, type Runtime } from './runtime.js';
import { warmUp } from './warm-up.js';
import type { ThreadEnd, ThreadReady } from './worker-thread.js';

const { engine } = workerData as SessionThreadConfig;
const { buckets, plan } = engine;
const pictureBytes = engine.input.width * engine.input.height * 3;

function answer(
  message: SessionAnswer | ThreadReady | ThreadEnd,
  transfer: readonly Transferable[] = [],
): void {
  parentPort?.postMessage(message, transfer);
}

/** The engine ends with this thread. */
function giveUp(error: unknown): void {
  answer({ kind: 'failed', message: describeEnd(error) });
}

async function run(runtime: Runtime, { pixels, count }: SessionTask): Promise<void> {
  const started = performance.now();
  const { pictures, ceiling } = await inferBatch(
    async (first, size) => plainOutputs(await runtime.run(...padded(pixels, first, size, count))),
    count,
    buckets,
  );
  const parts = partsOf(pictures);
  const ran = { kind: 'ran', pixels, ms: performance.now() - started, parts } as const;
  postParts(answer, ceiling === undefined ? ran : { ...ran, ceiling });
}

/** Pictures `first` to `first + size`, filled up to a size that the session runs. */
function padded(
  pixels: ArrayBuffer,
  first: number,
  size: number,
  count: number,
): [Uint8Array, number] {
  const bucket = bucketFor(size, buckets);
  // The helper has put blank ones behind the whole batch.
  if (size === count) return [new Uint8Array(pixels, 0, bucket * pictureBytes), bucket];
  const part = new Uint8Array(pixels, first * pictureBytes, size * pictureBytes);
  if (bucket === size) return [part, size];
  // Not filled up with its neighbours: one of them is why the batch is run in parts.
  const copy = new Uint8Array(bucket * pictureBytes);
  copy.set(part);
  return [copy, bucket];
}

try {
  const runtime = await loadRuntime(engine, plan.threads);
  const room = bucketFor(plan.maxBatch, buckets) * pictureBytes;
  const ceiling = await warmUp(runtime, engine, engine.warmBatches, new Uint8Array(room));
  // A run begins a little after it was asked for, so the next one must be kept from overtaking it.
  let last = Promise.resolve();
  parentPort?.on('message', (task: SessionTask) => {
    // Once one is given up, those behind it do not run any more.
    last = last.then(() => run(runtime, task));
    last.catch(giveUp);
  });
  const { provider, placement } = runtime;
  const ready = { kind: 'ready', provider, ...(placement && { placement }) } as const;
  answer(ceiling === undefined ? ready : { ...ready, ceiling });
} catch (error) {
  giveUp(error);
}
