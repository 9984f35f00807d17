/** One process of the limit: decode, infer and head in a loop, with the server's own code. */
import { once } from 'node:events';
import type { EngineConfig } from '../src/engine/messages.js';

interface LimitJob {
  readonly engine: EngineConfig;
  readonly images: readonly string[];
  readonly root: string;
}
const [{ engine, images, root }] = (await once(process, 'message')) as [LimitJob];
const load = async <T>(path: string): Promise<T> => (await import(`${root}/dist/${path}`)) as T;
const { decodeInto } = await load<typeof import('../src/image/decode.js')>('image/decode.js');
const { inspectImage } = await load<typeof import('../src/image/inspect.js')>('image/inspect.js');
const { visibleSize } = await load<typeof import('../src/image/info.js')>('image/info.js');
const { HEADS } = await load<typeof import('../src/heads/head.js')>('heads/head.js');
const { loadRuntime } = await load<typeof import('../src/engine-process/runtime.js')>(
  'engine-process/runtime.js',
);

const { width, height } = engine.input;
const runtime = await loadRuntime(engine, engine.plan.threads);
const pixels = new Uint8Array(width * height * 3);
const files = images.map((image) => Buffer.from(image, 'base64'));

async function predict(index: number): Promise<void> {
  const file = files[index % files.length] as Buffer;
  const info = inspectImage(file);
  await decodeInto(file, info, { data: pixels, width, height }, engine.maxPixels);
  const outputs = await runtime.run(pixels, 1);
  HEADS[engine.head](outputs, {
    index: 0,
    threshold: 0.5,
    labels: engine.labels,
    ...visibleSize(info),
  });
}

for (let warm = 0; warm < 5; warm++) await predict(warm);
process.on('message', (seconds: number) => {
  void (async () => {
    const times: number[] = [];
    const cpuBefore = process.cpuUsage();
    const end = performance.now() + seconds * 1000;
    for (let index = 0, now = performance.now(); now < end; index++) {
      await predict(index);
      const after = performance.now();
      times.push(after - now);
      now = after;
    }
    process.send?.({ times, cpu: process.cpuUsage(cpuBefore) });
  })();
});
process.send?.('ready');
