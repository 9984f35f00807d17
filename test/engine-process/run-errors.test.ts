import { describe, expect, it } from 'vitest';
import { describeEnd, isDeviceLost, isOutOfMemory } from '../../src/engine-process/run-errors.js';

describe('isOutOfMemory', () => {
  it.each([
    'Failed to allocate memory for requested buffer of size 1073741824',
    'std::bad_alloc',
    'CUDA failure 2: out of memory',
    'Non-zero status code: bad allocation',
  ])('knows %s', (message) => {
    expect(isOutOfMemory(new Error(message))).toBe(true);
  });

  it.each(['Got invalid dimensions for input', 'room'])('does not take %s for it', (message) => {
    expect(isOutOfMemory(new Error(message))).toBe(false);
  });
});

describe('isDeviceLost', () => {
  it.each([
    'CUDA failure 700: an illegal memory access was encountered ; GPU=0 ; hostname=x',
    'CUDA failure 710: device-side assert triggered',
    'CUDA failure 719: unspecified launch failure',
    'CUDA error 999: unknown error',
    'cudaErrorUnknown',
    'CUDNN failure 8: CUDNN_STATUS_EXECUTION_FAILED ; GPU=0',
    'CUDNN_STATUS_INTERNAL_ERROR',
    'CUBLAS failure 13: CUBLAS_STATUS_EXECUTION_FAILED',
    'WebGPU device lost: GPU process crashed',
    'Device is lost.',
    'DXGI_ERROR_DEVICE_REMOVED (0x887A0005)',
    'vkQueueSubmit failed with VK_ERROR_DEVICE_LOST',
  ])('knows %s', (message) => {
    expect(isDeviceLost(new Error(message))).toBe(true);
  });

  it.each([
    'CUDA failure 2: out of memory ; GPU=0',
    'CUDNN_STATUS_ALLOC_FAILED',
    'CUDA failure 1: invalid argument',
    'Non-zero status code returned while running Conv node',
    'Got 700 pictures for device 710',
    'the stub does not like this picture',
  ])('does not take %s for it', (message) => {
    expect(isDeviceLost(new Error(message))).toBe(false);
  });

  it('is not asked about what is no error', () => {
    expect(isDeviceLost('CUDA failure 700')).toBe(false);
  });
});

describe('describeEnd', () => {
  it('says in one line what ended an engine', () => {
    const lost = describeEnd(new Error('CUDA failure 700: illegal memory access\nat file.cc:12'));
    expect(lost).toBe(
      'the device failed, a new engine is needed: CUDA failure 700: illegal memory access',
    );
    expect(describeEnd('gone')).toBe('gone');
    expect(describeEnd(new Error('x'.repeat(1000)))).toHaveLength(200);
  });
});
