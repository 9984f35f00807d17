/** Decodes photo after photo for as long as it is told. */
import { parentPort, workerData } from 'node:worker_threads';
import { decodeInto } from '../../src/image/decode.js';
import { inspectImage } from '../../src/image/inspect.js';
import type { DecodeJob } from './decode.js';

const { images, width, height } = workerData as DecodeJob;
const files = images.map((image) => Buffer.from(image));
const target = { data: new Uint8Array(width * height * 3), width, height };
const MAX_PIXELS = 1e9;

parentPort?.on('message', (seconds: number) => {
  void (async () => {
    const end = performance.now() + seconds * 1000;
    let count = 0;
    while (count === 0 || performance.now() < end) {
      const file = files[count % files.length] as Buffer;
      await decodeInto(file, inspectImage(file), target, MAX_PIXELS);
      count++;
    }
    parentPort?.postMessage(count);
  })();
});
parentPort?.postMessage('ready');
