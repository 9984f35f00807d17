import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { type Device, isSlowToPrepare } from '../config/devices.js';
import type { EngineConfig, Placement } from '../engine/messages.js';
import type { Outputs } from '../heads/outputs.js';
import { onePerSize } from './one-per-size.js';
import { placementOf } from './placement.js';
import type { Runtime } from './runtime.js';

/** The only place that touches ONNX Runtime. */
export async function loadOnnx(config: EngineConfig, threads: number): Promise<Runtime> {
  const { width, height } = config.input;
  const record = config.countsNodes ? mkdtempSync(join(tmpdir(), 'shoal-nodes-')) : undefined;
  const create = (): Promise<InferenceSession> =>
    InferenceSession.create(config.modelPath, {
      ...sessionOptions(config.device, threads),
      ...(record !== undefined && { enableProfiling: true, profileFilePrefix: join(record, 'r') }),
    });
  try {
    const first = await create();
    const inputName = checkInput(first, config.input);
    const sessionFor = isSlowToPrepare(config.device.name)
      ? onePerSize(first, create)
      : () => first;
    const run = async (pixels: Uint8Array, count: number): Promise<Outputs> => {
      const tensor = new Tensor('uint8', pixels, [count, height, width, 3]);
      const session = await sessionFor(count);
      // The call blocks this thread until the batch is done, promise or not. That is why it
      // runs in a lane, and why nothing else does.
      return (await session.run({ [inputName]: tensor })) as unknown as Outputs;
    };
    const provider = config.device.name;
    if (record === undefined) return { provider, run };
    const count = config.buckets[0] ?? 1;
    await run(new Uint8Array(count * width * height * 3), count);
    first.endProfiling();
    return { provider, run, placement: readPlacement(record, config.device) };
  } finally {
    if (record !== undefined) rmSync(record, { recursive: true, force: true });
  }
}

function sessionOptions(device: Device, threads: number): InferenceSession.SessionOptions {
  return {
    // Only this one: with a second to fall back on, nobody would notice that the first is missing.
    executionProviders: [providerFor(device)],
    // Warnings are about nodes that stay on the CPU, which is counted where it matters.
    logSeverityLevel: 3,
    graphOptimizationLevel: 'all',
    executionMode: 'sequential',
    // A pattern per batch size would hold the memory of each; without, they share it. Same speed.
    enableMemPattern: false,
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    // A spinning thread takes the core that decoding or the HTTP process needs.
    extra: { session: { intra_op: { allow_spinning: '0' }, inter_op: { allow_spinning: '0' } } },
  };
}

function providerFor({ name, index }: Device): InferenceSession.ExecutionProviderConfig {
  // The others take the first there is: their providers have no way to name another.
  return name === 'cuda' || name === 'tensorrt' || name === 'dml'
    ? { name, deviceId: index }
    : name;
}

function checkInput(
  session: InferenceSession,
  { width, height }: { readonly width: number; readonly height: number },
): string {
  const [inputName] = session.inputNames;
  const [input] = session.inputMetadata;
  if (inputName === undefined || !input?.isTensor) throw new Error('the model has no image input');
  const shape = [width, height, 3].map(String).join('×');
  const [, ...dims] = input.shape;
  if (input.type !== 'uint8' || dims.join() !== [height, width, 3].join()) {
    throw new Error(
      `the model's input is ${input.type} [${input.shape.join(', ')}], expected uint8 ${shape}`,
    );
  }
  return inputName;
}

function readPlacement(folder: string, { name }: Device): Placement {
  const [file = ''] = readdirSync(folder);
  return placementOf(readFileSync(join(folder, file), 'utf8'), name);
}
