import { randomBytes } from 'node:crypto';
import { onnxRuntimeVersion } from '../../src/gpu/runtime-files.js';
import type { FakeWheel } from './fake-index.js';

/** Names that no machine has, or they would be left out. */
export const LIBRARIES = [
  'libshoalcudart.so.13',
  'libshoaldnn.so.9',
  'libshoalblas.so.13',
] as const;

/** The same packages as the real ones, with a few kilobytes that cannot be packed any smaller. */
export function cudaWheels(): FakeWheel[] {
  const [cudart, cudnn, cublas] = LIBRARIES;
  const version = onnxRuntimeVersion();
  return [
    {
      project: 'onnxruntime-gpu',
      version,
      requires: [
        'numpy>=1.21.6',
        'nvidia-cuda-runtime~=13.0; extra == "cuda"',
        'nvidia-cudnn-cu13~=9.0; extra == "cudnn"',
        'sympy; extra == "symbolic"',
      ],
      files: {
        'onnxruntime/capi/libonnxruntime_providers_cuda.so': randomBytes(300_000),
        'onnxruntime/capi/libonnxruntime_providers_shared.so': randomBytes(100),
        'onnxruntime/capi/libonnxruntime_providers_tensorrt.so': randomBytes(100),
        [`onnxruntime/capi/libonnxruntime.so.${version}`]: randomBytes(100),
        'onnxruntime/__init__.py': randomBytes(100),
        'onnxruntime/LICENSE': randomBytes(100),
      },
    },
    {
      project: 'nvidia-cuda-runtime',
      version: '13.4.92',
      files: {
        [`nvidia/cu13/lib/${cudart}`]: randomBytes(1000),
        'nvidia/cu13/include/cuda.h': randomBytes(100),
      },
    },
    // Neither a snapshot nor another generation is taken.
    { project: 'nvidia-cuda-runtime', version: '14.0.1', files: {} },
    { project: 'nvidia-cuda-runtime', version: '13.9.0.dev5', files: {} },
    {
      project: 'nvidia-cudnn-cu13',
      version: '9.27.0.42',
      requires: ['nvidia-cublas'],
      files: { [`nvidia/cudnn/lib/${cudnn}`]: randomBytes(200_000) },
    },
    {
      project: 'nvidia-cublas',
      version: '13.8.2.12',
      files: { [`nvidia/cu13/lib/${cublas}`]: randomBytes(1000) },
    },
    { project: 'nvidia-cublas', version: '14.1', files: {} },
  ];
}
