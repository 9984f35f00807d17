/**
 * A worker thread that decodes pictures and runs batches, one task at a time. It answers every
 * task exactly once and never throws out of one. This is all there is on a CPU; the threads of a
 * pipelined engine are in `session-thread.ts` and `helper-thread.ts`.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { inferBatch, type Inferred } from './infer.js';
import { decoderFor, type DecodeOutcome } from './lane-decode.js';
import type {
  DecodeTask,
  LaneAnswer,
  LaneConfig,
  LaneTask,
  RunItem,
  RunResult,
  RunTask,
} from './lane-messages.js';
import { applyHead, toRunError } from './lane-results.js';
import { describeEnd } from './run-errors.js';
import { loadRuntime, type Runtime } from './runtime.js';
import { warmUp } from './warm-up.js';
import type { ThreadEnd, ThreadReady } from './worker-thread.js';

const { engine, hasSession, hasWide, slots, blocksLoaders } = workerData as LaneConfig;
const { width, height } = engine.input;
const pictureBytes = width * height * 3;
const decode = await decoderFor(engine);
/** ONNX Runtime refuses shared memory, so a batch is put together in memory of our own. */
const batch = new Uint8Array(hasSession ? engine.plan.maxBatch * pictureBytes : 0);

function answer(message: LaneAnswer | ThreadReady | ThreadEnd): void {
  parentPort?.postMessage(message);
}

/** The engine ends with this thread. */
function giveUp(error: unknown): void {
  answer({ kind: 'failed', message: describeEnd(error) });
}

function slotPixels(slot: number): Uint8Array {
  return new Uint8Array(slots, slot * pictureBytes, pictureBytes);
}

function batchPixels(place: number): Uint8Array {
  return batch.subarray(place * pictureBytes, (place + 1) * pictureBytes);
}

async function decodeTask({ source, slot }: DecodeTask): Promise<LaneAnswer> {
  return { kind: 'decoded', ...(await decode(source, slotPixels(slot))) };
}

async function runTask(runtime: Runtime, { items }: RunTask): Promise<LaneAnswer> {
  // A picture that cannot be decoded leaves its place to the next one.
  let filled = 0;
  const places: (DecodeOutcome & { place: number })[] = [];
  for (const { source } of items) {
    const pixels = batchPixels(filled);
    let decoded: DecodeOutcome = { ms: 0 };
    if (typeof source === 'number') pixels.set(slotPixels(source));
    else decoded = await decode(source, pixels);
    places.push({ ...decoded, place: filled });
    if (decoded.error === undefined) filled++;
  }

  const started = performance.now();
  const { pictures, ceiling } = await inferBatch(
    (first, count) =>
      runtime.run(batch.subarray(first * pictureBytes, (first + count) * pictureBytes), count),
    filled,
  );
  const inferred = performance.now();
  const results = items.map((item, index): RunResult => {
    const { ms: decodeMs, error, place } = places[index] as (typeof places)[0];
    return { decodeMs, result: error ?? toResult(pictures[place] as Inferred, item) };
  });
  const postMs = performance.now() - inferred;
  const inferMs = inferred - started;
  const ran = { kind: 'ran', batchSize: filled, inferMs, postMs, results } as const;
  return ceiling === undefined ? ran : { ...ran, ceiling };
}

function toResult(inferred: Inferred, item: RunItem): RunResult['result'] {
  if ('error' in inferred) return toRunError(inferred.error);
  return applyHead(engine, inferred.outputs, inferred.index, item);
}

interface Sessions {
  readonly narrow?: Runtime;
  readonly wide?: Runtime;
  /** The largest batch that fits into memory, when not all that were tried did. */
  readonly ceiling?: number;
}

async function start(): Promise<Sessions> {
  if (blocksLoaders) await (await import('../image/vips.js')).blockLoaders();
  if (!hasSession) return {};
  const narrow = await loadRuntime(engine, engine.plan.threads);
  const ceiling = await warmUp(narrow, engine, engine.warmBatches, batch);
  const sessions = ceiling === undefined ? { narrow } : { narrow, ceiling };
  if (!hasWide) return sessions;
  const wide = await loadRuntime(engine, engine.plan.wideThreads);
  await warmUp(wide, engine, [1], batch);
  return { ...sessions, wide };
}

try {
  const { ceiling, ...runtimes } = await start();
  parentPort?.on('message', (task: LaneTask) => {
    if (task.kind === 'decode') {
      void decodeTask(task).then(answer, giveUp);
      return;
    }
    const runtime = runtimes[task.session];
    if (runtime === undefined) throw new Error(`this lane has no ${task.session} session`);
    void runTask(runtime, task).then(answer, giveUp);
  });
  const { provider = 'none', placement } = runtimes.narrow ?? {};
  const ready = { kind: 'ready', provider, ...(placement && { placement }) } as const;
  answer(ceiling === undefined ? ready : { ...ready, ceiling });
} catch (error) {
  giveUp(error);
}
