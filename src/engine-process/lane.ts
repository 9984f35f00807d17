/**
 * A worker thread that decodes pictures and runs batches, one task at a time. It answers every
 * task exactly once and never throws out of one.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { ShoalError } from '../errors.js';
import { HEADS } from '../heads/head.js';
import { decodeInto } from '../image/decode.js';
import type {
  DecodeTask,
  LaneAnswer,
  LaneConfig,
  LaneTask,
  PublicError,
  RunTask,
} from './lane-messages.js';
import { loadRuntime, type Runtime } from './runtime.js';

const { engine, slots, provesLoaders } = workerData as LaneConfig;
const { width, height } = engine.input;
const slotBytes = width * height * 3;
const head = HEADS[engine.head];
/** ONNX Runtime refuses shared memory, so a batch is put together in memory of our own. */
const batch = new Uint8Array(engine.plan.maxBatch * slotBytes);

function answer(message: LaneAnswer): void {
  parentPort?.postMessage(message);
}

function slotPixels(slot: number): Uint8Array {
  return new Uint8Array(slots, slot * slotBytes, slotBytes);
}

async function decode({ bytes, image, slot }: DecodeTask): Promise<LaneAnswer> {
  const started = performance.now();
  const elapsed = (): number => performance.now() - started;
  try {
    const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const target = { data: slotPixels(slot), width, height };
    await decodeInto(file, image, target, engine.maxPixels);
    return { kind: 'decoded', ms: elapsed() };
  } catch (error) {
    return { kind: 'decoded', ms: elapsed(), error: toPublicError(error) };
  }
}

async function run(runtime: Runtime, { items }: RunTask): Promise<LaneAnswer> {
  const started = performance.now();
  try {
    items.forEach(({ slot }, index) => {
      batch.set(slotPixels(slot), index * slotBytes);
    });
    const outputs = await runtime.run(batch.subarray(0, items.length * slotBytes), items.length);
    const inferred = performance.now();
    const results = items.map(({ threshold, width: imageWidth, height: imageHeight }, index) => {
      try {
        return head(outputs, {
          index,
          threshold,
          width: imageWidth,
          height: imageHeight,
          labels: engine.labels,
        });
      } catch (error) {
        return toPublicError(error);
      }
    });
    const inferMs = inferred - started;
    return { kind: 'ran', inferMs, postMs: performance.now() - inferred, results };
  } catch (error) {
    const failure = toPublicError(error);
    const inferMs = performance.now() - started;
    return { kind: 'ran', inferMs, postMs: 0, results: items.map(() => failure) };
  }
}

/** What may reach a client; anything unexpected goes to the log instead. */
function toPublicError(error: unknown): PublicError {
  if (error instanceof ShoalError) return { code: error.code, detail: error.message };
  console.error(error);
  return { code: 'internal_error', detail: 'The model failed on this image.' };
}

async function start(): Promise<Runtime> {
  if (provesLoaders) await (await import('../image/vips.js')).assertLoadersBlocked();
  const runtime = await loadRuntime(engine);
  // The first run allocates and is slow; it must not be a client's.
  await runtime.run(batch.subarray(0, slotBytes), 1);
  return runtime;
}

try {
  const runtime = await start();
  parentPort?.on('message', (task: LaneTask) => {
    void (task.kind === 'decode' ? decode(task) : run(runtime, task)).then(answer);
  });
  answer({ kind: 'ready', provider: runtime.provider });
} catch (error) {
  answer({ kind: 'failed', message: error instanceof Error ? error.message : String(error) });
}
