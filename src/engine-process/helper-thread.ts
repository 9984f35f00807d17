/**
 * A worker thread of a pipelined engine without a session: it decodes pictures, packs batches and
 * reads outputs, one task at a time, and answers every task exactly once.
 */
import { parentPort, type Transferable, workerData } from 'node:worker_threads';
import { decoderFor } from './lane-decode.js';
import type { DecodeTask, RunResult } from './lane-messages.js';
import { applyHead } from './lane-results.js';
import type {
  FinishTask,
  HelperAnswer,
  HelperTask,
  HelperThreadConfig,
  PackTask,
} from './pipeline-messages.js';
import { describeEnd } from './run-errors.js';
import type { ThreadEnd, ThreadReady } from './worker-thread.js';

const { engine, slots, blocksLoaders } = workerData as HelperThreadConfig;
const pictureBytes = engine.input.width * engine.input.height * 3;

function answer(
  message: HelperAnswer | ThreadReady | ThreadEnd,
  transfer: readonly Transferable[] = [],
): void {
  parentPort?.postMessage(message, transfer);
}

/** The engine ends with this thread. */
function giveUp(error: unknown): void {
  answer({ kind: 'failed', message: describeEnd(error) });
}

function slotPixels(slot: number): Uint8Array {
  return new Uint8Array(slots, slot * pictureBytes, pictureBytes);
}

function pack({ slots: wanted, size, pixels }: PackTask): void {
  const batch = new Uint8Array(pixels);
  wanted.forEach((slot, place) => {
    batch.set(slotPixels(slot), place * pictureBytes);
  });
  // What was in here before is somebody else's.
  batch.fill(0, wanted.length * pictureBytes, size * pictureBytes);
  answer({ kind: 'packed', pixels }, [pixels]);
}

function finish({ parts, items }: FinishTask): void {
  const started = performance.now();
  const results: RunResult['result'][] = [];
  for (const part of parts) {
    for (let index = 0; index < part.count; index++) {
      const item = items[results.length];
      if (item === undefined) throw new Error('there are more results than pictures');
      const isFailed = 'error' in part;
      results.push(isFailed ? part.error : applyHead(engine, part.outputs, index, item));
    }
  }
  answer({ kind: 'finished', ms: performance.now() - started, results });
}

try {
  if (blocksLoaders) await (await import('../image/vips.js')).blockLoaders();
  const decode = await decoderFor(engine);
  const decodeTask = async ({ source, slot }: DecodeTask): Promise<void> => {
    answer({ kind: 'decoded', ...(await decode(source, slotPixels(slot))) });
  };
  // Decoding may have to wait. Nothing may overtake it: answers are told apart by their order.
  let last = Promise.resolve();
  parentPort?.on('message', (task: HelperTask) => {
    last = last.then(() => {
      if (task.kind === 'decode') return decodeTask(task);
      if (task.kind === 'pack') pack(task);
      else finish(task);
      return undefined;
    });
    last.catch(giveUp);
  });
  answer({ kind: 'ready', provider: 'none' });
} catch (error) {
  giveUp(error);
}
