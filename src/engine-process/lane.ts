/**
 * A worker thread that decodes pictures and runs batches, one task at a time. It answers every
 * task exactly once and never throws out of one.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { ShoalError } from '../errors.js';
import { HEADS } from '../heads/head.js';
import type { Outputs } from '../heads/outputs.js';
import { decodeInto } from '../image/decode.js';
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

const { engine, hasSession, slots, provesLoaders } = workerData as LaneConfig;
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
  const outcome: InferOutcome = filled === 0 ? { error: FAILED } : await infer(runtime, filled);
  const inferred = performance.now();
  const results = items.map((item, index): RunResult => {
    const { ms: decodeMs, error, place } = places[index] as (typeof places)[0];
    if (error !== undefined) return { decodeMs, result: error };
    if ('error' in outcome) return { decodeMs, result: outcome.error };
    return { decodeMs, result: applyHead(outcome.outputs, place, item) };
  });
  const postMs = performance.now() - inferred;
  return { kind: 'ran', batchSize: filled, inferMs: inferred - started, postMs, results };
}

async function infer(runtime: Runtime, count: number): Promise<InferOutcome> {
  try {
    return { outputs: await runtime.run(batch.subarray(0, count * pictureBytes), count) };
  } catch (error) {
    return { error: toPublicError(error) };
  }
}

type InferOutcome = { readonly outputs: Outputs } | { readonly error: PublicError };

function applyHead(outputs: Outputs, index: number, item: RunItem): RunResult['result'] {
  const { threshold, width: imageWidth, height: imageHeight } = item;
  const { labels } = engine;
  try {
    return head(outputs, { index, threshold, labels, width: imageWidth, height: imageHeight });
  } catch (error) {
    return toPublicError(error);
  }
}

const FAILED: PublicError = { code: 'internal_error', detail: 'The model failed on this image.' };

/** What may reach a client; anything unexpected goes to the log instead. */
function toPublicError(error: unknown): PublicError {
  if (error instanceof ShoalError) return { code: error.code, detail: error.message };
  console.error(error);
  return FAILED;
}

async function start(): Promise<Runtime | undefined> {
  if (provesLoaders) await (await import('../image/vips.js')).assertLoadersBlocked();
  if (!hasSession) return undefined;
  const runtime = await loadRuntime(engine);
  // The first run allocates and is slow; it must not be a client's.
  await runtime.run(batchPixels(0), 1);
  return runtime;
}

try {
  const runtime = await start();
  parentPort?.on('message', (task: LaneTask) => {
    if (task.kind === 'decode') void decodeTask(task).then(answer);
    else if (runtime !== undefined) void runTask(runtime, task).then(answer);
  });
  answer({ kind: 'ready', provider: runtime?.provider ?? 'none' });
} catch (error) {
  answer({ kind: 'failed', message: error instanceof Error ? error.message : String(error) });
}
