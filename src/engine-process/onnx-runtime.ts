import { InferenceSession, Tensor } from 'onnxruntime-node';
import type { EngineConfig } from '../engine/messages.js';
import type { Outputs } from '../heads/outputs.js';
import type { Runtime } from './runtime.js';

/** The only place that touches ONNX Runtime. */
export async function loadOnnx(config: EngineConfig, threads: number): Promise<Runtime> {
  const { width, height } = config.input;
  const session = await InferenceSession.create(config.modelPath, {
    executionProviders: ['cpu'],
    graphOptimizationLevel: 'all',
    executionMode: 'sequential',
    // A pattern per batch size would hold the memory of each; without, they share it. Same speed.
    enableMemPattern: false,
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    // A spinning thread takes the core that decoding or the HTTP process needs.
    extra: { session: { intra_op: { allow_spinning: '0' }, inter_op: { allow_spinning: '0' } } },
  });
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

  return {
    provider: 'cpu',
    async run(pixels, count) {
      const tensor = new Tensor('uint8', pixels, [count, height, width, 3]);
      // The call blocks this thread until the batch is done, promise or not. That is why it
      // runs in a lane, and why nothing else does.
      return (await session.run({ [inputName]: tensor })) as unknown as Outputs;
    },
  };
}
