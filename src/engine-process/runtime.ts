import type { EngineConfig, Placement } from '../engine/messages.js';
import type { Outputs } from '../heads/outputs.js';

/** One loaded model. Not safe for concurrent use: each lane has its own. */
export interface Runtime {
  /** The provider really in use. */
  readonly provider: string;
  /** Only where the configuration asks for it. */
  readonly placement?: Placement;
  /**
   * @param pixels uint8 pictures, one behind the other, in the model's input size
   * @param count how many there are
   */
  run(pixels: Uint8Array, count: number): Promise<Outputs>;
}

/** Only the runtime that is asked for is loaded. */
export async function loadRuntime(config: EngineConfig, threads: number): Promise<Runtime> {
  if (config.runtime === 'stub') {
    return (await import('./stub-runtime.js')).loadStub(config, threads);
  }
  return (await import('./onnx-runtime.js')).loadOnnx(config, threads);
}
