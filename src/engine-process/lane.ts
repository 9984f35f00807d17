/**
 * A worker thread that decodes pictures and runs batches, one task at a time. It answers every
 * task exactly once and never throws out of one.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { ShoalError } from '../errors.js';
import { HEADS } from '../heads/head.js';
import type { Outputs } from '../heads/outputs.js';
import { decodeInto } from '../image/decode.js';
import { inferBatch, type Inferred, isOutOfMemory } from './infer.js';
import type {
  DecodeTask,
  Encoded,
  LaneAnswer,
  LaneConfig,
  LaneTask,
  PublicError,
  RunItem,
  RunResult,
  RunTask,
} from './lane-messages.js';
import { loadRuntime, type Runtime } from './runtime.js';

const { engine, hasSession, hasWide, slots, blocksLoaders } = workerData as LaneConfig;
const { width, height } = engine.input;
const pictureBytes = width * height * 3;
const head = HEADS[engine.head];
/** ONNX Runtime refuses shared memory, so a batch is put together in memory of our own. */
const batch = new Uint8Array(hasSession ? engine.plan.maxBatch * pictureBytes : 0);

function answer(message: LaneAnswer): void {
  parentPort?.postMessage(message);
}

function slotPixels(slot: number): Uint8Array {
  return new Uint8Array(slots, slot * pictureBytes, pictureBytes);
}

function batchPixels(place: number): Uint8Array {
  return batch.subarray(place * pictureBytes, (place + 1) * pictureBytes);
}

async function decode({ bytes, image }: Encoded, data: Uint8Array): Promise<DecodeOutcome> {
  const started = performance.now();
  const elapsed = (): number => performance.now() - started;
  try {
    const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    await decodeInto(file, image, { data, width, height }, engine.maxPixels);
    return { ms: elapsed() };
  } catch (error) {
    return { ms: elapsed(), error: toPublicError(error) };
  }
}

interface DecodeOutcome {
  readonly ms: number;
  readonly error?: PublicError;
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
  if (!('error' in inferred)) return applyHead(inferred.outputs, inferred.index, item);
  console.error(inferred.error);
  return isOutOfMemory(inferred.error) ? NO_MEMORY : FAILED;
}

function applyHead(outputs: Outputs, index: number, item: RunItem): RunResult['result'] {
  const { threshold, width: imageWidth, height: imageHeight } = item;
  const { labels } = engine;
  try {
    return head(outputs, { index, threshold, labels, width: imageWidth, height: imageHeight });
  } catch (error) {
    return toPublicError(error);
  }
}

const FAILED: PublicError = { code: 'model_failed', detail: 'The model failed on this image.' };
const NO_MEMORY: PublicError = {
  code: 'out_of_memory',
  detail: 'The engine has not enough memory to run this image, even alone.',
};

/** What may reach a client; anything unexpected goes to the log instead. */
function toPublicError(error: unknown): PublicError {
  if (error instanceof ShoalError) return { code: error.code, detail: error.message };
  console.error(error);
  return FAILED;
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
  const ceiling = await warmUp(narrow, engine.warmBatches);
  const sessions = ceiling === undefined ? { narrow } : { narrow, ceiling };
  if (!hasWide) return sessions;
  const wide = await loadRuntime(engine, engine.plan.wideThreads);
  await warmUp(wide, [1]);
  return { ...sessions, wide };
}

const MAX_WARM_UP_MS = 2000;

/** First runs allocate and are slow; they must not be a client's. */
async function warmUp(runtime: Runtime, sizes: readonly number[]): Promise<number | undefined> {
  const started = performance.now();
  let fits = 0;
  for (const count of sizes) {
    // Clients that wait for an engine are worse off than the first large batch would be.
    if (performance.now() - started > MAX_WARM_UP_MS) break;
    try {
      await runtime.run(batch.subarray(0, count * pictureBytes), count);
      fits = count;
    } catch (error) {
      if (fits > 0 && isOutOfMemory(error)) return fits;
      throw error;
    }
  }
  return undefined;
}

try {
  const { ceiling, ...runtimes } = await start();
  parentPort?.on('message', (task: LaneTask) => {
    if (task.kind === 'decode') {
      void decodeTask(task).then(answer);
      return;
    }
    const runtime = runtimes[task.session];
    if (runtime === undefined) throw new Error(`this lane has no ${task.session} session`);
    void runTask(runtime, task).then(answer);
  });
  const ready = { kind: 'ready', provider: runtimes.narrow?.provider ?? 'none' } as const;
  answer(ceiling === undefined ? ready : { ...ready, ceiling });
} catch (error) {
  answer({ kind: 'failed', message: error instanceof Error ? error.message : String(error) });
}
