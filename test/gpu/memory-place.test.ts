import { describe, expect, it } from 'vitest';
import type { Device } from '../../src/config/devices.js';
import { gpuOf, gpusInUse } from '../../src/gpu/memory-place.js';
import type { GpuReading } from '../../src/gpu/memory-reading.js';

const gpu = (index: number, vendor: GpuReading['vendor'] = 'nvidia'): GpuReading => ({
  vendor,
  index,
  uuid: `GPU-${String(index)}abc`,
  name: 'one',
  usedBytes: 1,
  totalBytes: 2,
});
const THREE = [gpu(0), gpu(1), gpu(2)];
const cuda = (index: number): Device => ({ name: 'cuda', index });

describe('the GPU of a device', () => {
  it.each([
    ['everything is visible', undefined, 1, 1],
    ['one is visible', '2', 0, 2],
    ['they are in another order', '2,0', 1, 0],
    ['they are named', 'GPU-1a', 0, 1],
    ['a slice is used', 'MIG-123', 0, undefined],
    ['the name fits several', 'GPU-', 0, undefined],
    ['nothing is visible', '', 0, undefined],
    ['there is no such', '0', 1, undefined],
  ])('is found when %s', (_name, visible, index, expected) => {
    const found = gpuOf(cuda(index), THREE, { CUDA_VISIBLE_DEVICES: visible });
    expect(found?.index).toBe(expected);
  });

  it('is that of its vendor', () => {
    expect(gpuOf(cuda(0), [gpu(0, 'amd')], {})).toBeUndefined();
    expect(gpuOf({ name: 'tensorrt', index: 0 }, [gpu(0, 'amd'), gpu(0)], {})).toEqual(gpu(0));
  });

  it('is known for WebGPU only where there is one', () => {
    const webgpu: Device = { name: 'webgpu', index: 0 };
    expect(gpuOf(webgpu, [gpu(0, 'amd')], {})).toEqual(gpu(0, 'amd'));
    expect(gpuOf(webgpu, THREE, {})).toBeUndefined();
  });

  it('is none for the CPU and where memory is shared', () => {
    expect(gpuOf({ name: 'cpu', index: 0 }, [gpu(0)], {})).toBeUndefined();
    expect(gpuOf({ name: 'coreml', index: 0 }, [gpu(0)], {})).toBeUndefined();
  });
});

describe('GPUs in use', () => {
  it('are listed once, with their models', () => {
    const models = [
      { name: 'a', variant: { devices: [cuda(1), cuda(0)] } },
      { name: 'b', variant: { devices: [cuda(1), { name: 'tensorrt', index: 1 } as const] } },
      { name: 'c', variant: { devices: [{ name: 'cpu', index: 0 } as const] } },
    ];
    expect(gpusInUse(models, THREE, {})).toEqual([
      { index: 0, reading: THREE[0], models: ['a'] },
      { index: 1, reading: THREE[1], models: ['a', 'b'] },
    ]);
  });

  it('are listed even if nothing is known about them', () => {
    expect(gpusInUse([{ name: 'a', variant: { devices: [cuda(3)] } }], [], {})).toEqual([
      { index: 3, reading: undefined, models: ['a'] },
    ]);
  });
});
