import type { Device } from '../config/devices.js';
import type { EngineConfig } from '../engine/messages.js';
import type { Runtime } from './runtime.js';

/**
 * A model for tests that answers with what it sees: the first pixel of a picture becomes the box
 * (red, green and blue as x1, y1 and x2, in 1/255 of the width). The model file is JSON and may
 * name how long things take and which faults to show. Where a fault is "on red", it shows when
 * the first pixel of any picture of the batch is this red.
 */
export interface StubModel {
  /** How long a batch takes. The thread is blocked meanwhile, as with a real session. */
  readonly sleep_ms?: number;
  /** How much longer it takes for each of its pictures. */
  readonly sleep_ms_per_image?: number;
  /** With several threads, the time is divided by this. */
  readonly wide_speedup?: number;
  /** Kill the engine. */
  readonly crash_on_red?: number;
  /** Never return. */
  readonly hang_on_red?: number;
  /** Fail as a model does that cannot take this picture. */
  readonly throw_on_red?: number;
  /** Give scores that are not numbers. */
  readonly nan_on_red?: number;
  /** Run out of memory with more pictures than this. */
  readonly max_images?: number;
  /** But not with black ones, which is what warms a session up. */
  readonly spares_black?: boolean;
  /** Keep this much memory with every run. */
  readonly leak_bytes?: number;
  /** Leave pictures undecoded, whatever they are: for measuring the way around. */
  readonly skip_decode?: boolean;
  /** Fail as a device does that is lost. */
  readonly device_error_on_red?: number;
  /** From then on find something else than there is, as a device does whose memory is damaged. */
  readonly poisoned_by_red?: number;
  /** Refuse to load. */
  readonly fail_to_load?: string;
  /** What is different on a device, by `cuda` or `cuda:1`. Those that are not named do not exist. */
  readonly devices?: Readonly<Record<string, StubDevice>>;
}

interface StubDevice extends Omit<StubModel, 'devices'> {
  /** Die while loading. */
  readonly crash?: boolean;
  /** Never finish loading. */
  readonly hang?: boolean;
  /** Find something else than there is, or nothing that is a number. */
  readonly garbage?: 'labels' | 'nan';
}

export async function readStub(modelPath: string): Promise<StubModel> {
  const { readFile } = await import('node:fs/promises');
  return JSON.parse(await readFile(modelPath, 'utf8')) as StubModel;
}

export async function loadStub(config: EngineConfig, threads: number): Promise<Runtime> {
  const model = onDevice(await readStub(config.modelPath), config.device);
  if (model.fail_to_load !== undefined) throw new Error(model.fail_to_load);
  const size = config.input.width * config.input.height * 3;
  const never = new Int32Array(new SharedArrayBuffer(4));
  const leaked: Uint8Array[] = [];
  let label = model.garbage === 'labels' ? 1 : 0;
  const speed = threads > 1 ? (model.wide_speedup ?? 1) : 1;
  let isWarm = false;
  if (model.crash === true) process.kill(process.pid, 'SIGSEGV');
  if (model.hang === true) Atomics.wait(never, 0, 0);

  return {
    provider: config.device.name === 'cpu' ? 'stub' : config.device.name,
    ...(config.countsNodes && { placement: { nodes: 7, ofNodes: 8 } }),
    async run(pixels, count) {
      const boxes = new Float32Array(count * 4);
      const scores = new Float32Array(count).fill(model.garbage === 'nan' ? Number.NaN : 1);
      const reds: number[] = [];
      for (let index = 0; index < count; index++) {
        const [red = 0, green = 0, blue = 0] = pixels.subarray(index * size, index * size + 3);
        reds.push(red);
        if (red === model.nan_on_red) scores[index] = Number.NaN;
        boxes.set([red / 255, green / 255, blue / 255, 1], index * 4);
      }
      const shows = (fault: number | undefined): boolean => reds.some((red) => red === fault);
      if (shows(model.crash_on_red)) process.kill(process.pid, 'SIGSEGV');
      if (shows(model.hang_on_red)) Atomics.wait(never, 0, 0);
      if (shows(model.poisoned_by_red)) label = 1;
      const isSpared =
        model.spares_black === true && boxes.every((value, at) => at % 4 === 3 || value === 0);
      if (count > (model.max_images ?? count) && !isSpared) {
        throw new Error('Failed to allocate memory');
      }
      if (shows(model.device_error_on_red)) {
        throw new Error('CUDA failure 700: an illegal memory access was encountered');
      }
      if (model.leak_bytes !== undefined) leaked.push(new Uint8Array(model.leak_bytes).fill(1));
      const ms = ((model.sleep_ms ?? 0) + count * (model.sleep_ms_per_image ?? 0)) / speed;
      // The first run is the warm-up, which need not take its time.
      if (isWarm && ms > 0) Atomics.wait(never, 0, 0, ms);
      isWarm = true;
      if (shows(model.throw_on_red)) throw new Error('the stub does not like this picture');
      return Promise.resolve({
        boxes: { data: boxes, dims: [count, 1, 4] },
        scores: { data: scores, dims: [count, 1] },
        classes: { data: new Int32Array(count).fill(label), dims: [count, 1] },
      });
    },
  };
}

function onDevice({ devices, ...model }: StubModel, { name, index }: Device): StubDevice {
  if (name === 'cpu') return model;
  const own = devices?.[`${name}:${String(index)}`] ?? devices?.[name];
  return { ...model, ...(own ?? { fail_to_load: `there is no ${name}:${String(index)}` }) };
}
