import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Host } from './host.js';

/** The library that the Node.js binding loads; providers must lie beside it. */
export const RUNTIME_LIBRARY = 'libonnxruntime.so.1';
export const CUDA_PROVIDER = 'libonnxruntime_providers_cuda.so';
export const TENSORRT_PROVIDER = 'libonnxruntime_providers_tensorrt.so';

const require = createRequire(import.meta.url);

/** Providers fit only the runtime of exactly their own version. */
export function onnxRuntimeVersion(): string {
  return (require('onnxruntime-node/package.json') as { version: string }).version;
}

/** Where the package keeps its native libraries. Only read: packages may lie on a read-only disk. */
export function packageLibraries({ platform, arch }: Host): string {
  const root = dirname(require.resolve('onnxruntime-node/package.json'));
  return join(root, 'bin', 'napi-v6', platform, arch);
}
