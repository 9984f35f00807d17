import type { EngineConfig } from '../engine/messages.js';
import { decodeInto } from '../image/decode.js';
import type { Encoded, PublicError } from './lane-messages.js';
import { toPublicError } from './lane-results.js';

export interface DecodeOutcome {
  readonly ms: number;
  readonly error?: PublicError;
}

/** Puts a picture into `data`, in the size that the model takes. */
export type Decode = (source: Encoded, data: Uint8Array) => Promise<DecodeOutcome>;

/** How the lanes of this engine decode. */
export async function decoderFor(engine: EngineConfig): Promise<Decode> {
  const { width, height } = engine.input;
  if (await skipsDecoding(engine)) return () => Promise.resolve({ ms: 0 });
  return async ({ bytes, image }, data) => {
    const started = performance.now();
    const elapsed = (): number => performance.now() - started;
    try {
      const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      await decodeInto(file, image, { data, width, height }, engine.maxPixels);
      return { ms: elapsed() };
    } catch (error) {
      return { ms: elapsed(), error: toPublicError(error) };
    }
  };
}

async function skipsDecoding({ runtime, modelPath }: EngineConfig): Promise<boolean> {
  if (runtime !== 'stub') return false;
  const { readStub } = await import('./stub-runtime.js');
  return (await readStub(modelPath)).skip_decode === true;
}
