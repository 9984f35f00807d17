/**
 * npm run bench:pipeline [-- --help]
 *
 * How much of the time a device waits for the engine around it: a made-up model that takes 7 ms for
 * a batch of 32, fed by as many items as an engine is given at once, with and without the pipeline.
 * Nothing is decoded, so what is left is the way through the engine. Linux only.
 */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EngineLink } from '../src/engine/engine-link.js';
import type { EngineConfig, ItemMeta, Results } from '../src/engine/messages.js';
import { number, optionalNumber, readArguments } from './arguments.js';
import { childrenOf } from './processes.js';

const { values } = readArguments({
  name: 'bench:pipeline',
  about: 'How long a GPU would wait for the engine around it, with a made-up model.',
  settings: {
    seconds: number(5, 'Seconds of every measurement'),
    batch: number(32, 'Images that run together'),
    'batch-ms': number(7, 'How long a batch takes'),
    sessions: number(1, 'Sessions'),
    helpers: number(2, 'Threads that pack and read outputs'),
    'in-flight': optionalNumber('Images in the engine at once. Default: four batches per session'),
    'image-bytes': number(1000, 'Bytes of every image'),
  },
});
const { batch: maxBatch, 'batch-ms': batchMs, sessions } = values;
/** What a session runs, what is staged, and what is decoded meanwhile. */
const inFlight = values['in-flight'] ?? sessions * maxBatch * 4;
const image = Buffer.alloc(values['image-bytes']);
const modelPath = join(mkdtempSync(join(tmpdir(), 'shoal-pipeline-')), 'model.onnx');
writeFileSync(modelPath, JSON.stringify({ sleep_ms: batchMs, skip_decode: true }));

const engineConfig = (isPipelined: boolean): EngineConfig => ({
  modelPath,
  runtime: 'stub',
  device: { name: 'cpu', index: 0 },
  cacheFolder: '',
  buckets: [],
  isPipelined,
  countsNodes: false,
  head: 'ssd',
  labels: ['thing'],
  input: { width: 300, height: 300 },
  plan: { sessions, threads: 1, maxBatch, wideThreads: 0 },
  curve: [1, maxBatch].map((batch) => ({ batch, ms: batchMs })),
  wideCurve: [],
  warmBatches: [1, maxBatch],
  warmUpMs: 2000,
  decodeLanes: values.helpers,
  batching: 'adaptive',
  windowMs: 10,
  maxItems: inFlight,
  maxPixels: 1e9,
  maxDecodeBytes: 1e9,
  hangTimeoutMs: 1e6,
});

interface Run {
  readonly perSecond: number;
  readonly idleShare: number;
  readonly meanBatch: number;
  readonly mainUsPerItem: number;
}

async function run(isPipelined: boolean): Promise<Run> {
  let [lastId, items, batches, runMs] = [0, 0, 0, 0];
  const meta = (): ItemMeta => ({
    id: ++lastId,
    threshold: 0.5,
    timeLeftMs: 30_000,
    isBackground: false,
    rank: 1,
    image: {
      format: 'jpeg',
      width: 640,
      height: 480,
      orientation: 1,
      components: 3,
      depth: 8,
      progressive: false,
    },
  });
  const link = await new Promise<EngineLink>((resolve, reject) => {
    const started = new EngineLink(engineConfig(isPipelined), {
      onReady: () => {
        resolve(started);
      },
      onResults: ({ batch, items: done }: Results) => {
        items += done.length;
        const [first] = done;
        if (batch !== undefined) batches++;
        if (first !== undefined && 'timings' in first) runMs += first.timings.inferMs;
        // Whoever is answered asks again.
        done.forEach(() => {
          link.sendItem(meta(), [image]);
        });
      },
      onPong: () => undefined,
      onEnd: (reason) => {
        reject(new Error(reason));
      },
    });
  });
  const [engine] = childrenOf(process.pid).slice(-1);
  for (let sent = 0; sent < inFlight; sent++) link.sendItem(meta(), [image]);
  await sleep(1000);
  const before = { at: performance.now(), cpuMs: mainThreadMs(engine), items, batches, runMs };
  await sleep(values.seconds * 1000);
  const took = performance.now() - before.at;
  const cpuMs = mainThreadMs(engine) - before.cpuMs;
  link.kill();
  const count = items - before.items;
  return {
    perSecond: (count * 1000) / took,
    idleShare: 1 - (runMs - before.runMs) / (took * sessions),
    meanBatch: count / (batches - before.batches),
    mainUsPerItem: (cpuMs * 1000) / count,
  };
}

/** What the first thread of a process has computed. */
function mainThreadMs(pid: number | undefined): number {
  const file = `/proc/${String(pid)}/task/${String(pid)}/schedstat`;
  return Number(readFileSync(file, 'utf8').split(' ')[0]) / 1e6;
}

for (const isPipelined of [false, true]) {
  const { perSecond, idleShare, meanBatch, mainUsPerItem } = await run(isPipelined);
  console.log(
    `${isPipelined ? 'pipelined' : 'plain    '}  ${perSecond.toFixed(0)} images/s, ` +
      `device idle ${(idleShare * 100).toFixed(1)} %, mean batch ${meanBatch.toFixed(1)}, ` +
      `main thread ${mainUsPerItem.toFixed(1)} µs per image`,
  );
}
