/** One session on its thread, with the server's own runtime. */
import { parentPort, workerData } from 'node:worker_threads';
import { fillWithNoise } from '../../src/engine-process/measure.js';
import { loadRuntime } from '../../src/engine-process/runtime.js';
import type { RawJob } from './raw.js';

const { engine } = workerData as RawJob;
const { width, height } = engine.input;
const pictureBytes = width * height * 3;
const pixels = new Uint8Array(engine.plan.maxBatch * pictureBytes);
fillWithNoise(pixels);
const runtime = await loadRuntime(engine, engine.plan.threads);
const WARM_UPS = 3;

parentPort?.on('message', ({ batch, seconds }: { batch: number; seconds: number }) => {
  void (async () => {
    const input = pixels.subarray(0, batch * pictureBytes);
    const times: number[] = [];
    const end = performance.now() + seconds * 1000;
    for (let now = performance.now(); times.length < WARM_UPS || now < end;) {
      await runtime.run(input, batch);
      const after = performance.now();
      times.push(after - now);
      now = after;
    }
    parentPort?.postMessage(times);
  })();
});
parentPort?.postMessage('ready');
