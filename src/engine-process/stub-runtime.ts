import type { EngineConfig } from '../engine/messages.js';
import type { Runtime } from './runtime.js';

/**
 * A model for tests that answers with what it sees: the first pixel of a picture becomes the box
 * (red, green and blue as x1, y1 and x2, in 1/255 of the width). The model file is JSON and may
 * name a fault to show.
 */
interface StubModel {
  /** How long a batch takes. The thread is blocked meanwhile, as with a real session. */
  readonly sleep_ms?: number;
  /** Kill the engine when the first pixel of any picture of the batch is this red. */
  readonly crash_on_red?: number;
  /** Never return when the first pixel of any picture of the batch is this red. */
  readonly hang_on_red?: number;
  /** Refuse to load. */
  readonly fail_to_load?: string;
}

export async function loadStub(config: EngineConfig): Promise<Runtime> {
  const { readFile } = await import('node:fs/promises');
  const model = JSON.parse(await readFile(config.modelPath, 'utf8')) as StubModel;
  if (model.fail_to_load !== undefined) throw new Error(model.fail_to_load);
  const size = config.input.width * config.input.height * 3;
  const never = new Int32Array(new SharedArrayBuffer(4));
  let isWarm = false;

  return {
    provider: 'stub',
    run(pixels, count) {
      const boxes = new Float32Array(count * 4);
      for (let index = 0; index < count; index++) {
        const [red = 0, green = 0, blue = 0] = pixels.subarray(index * size, index * size + 3);
        if (red === model.crash_on_red) process.kill(process.pid, 'SIGSEGV');
        if (red === model.hang_on_red) Atomics.wait(never, 0, 0);
        boxes.set([red / 255, green / 255, blue / 255, 1], index * 4);
      }
      // The first run is the warm-up, which need not take its time.
      if (isWarm && model.sleep_ms !== undefined) Atomics.wait(never, 0, 0, model.sleep_ms);
      isWarm = true;
      return Promise.resolve({
        boxes: { data: boxes, dims: [count, 1, 4] },
        scores: { data: new Float32Array(count).fill(1), dims: [count, 1] },
        classes: { data: new Int32Array(count), dims: [count, 1] },
      });
    },
  };
}
