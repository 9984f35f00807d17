import { describe, expect, it } from 'vitest';
import { gpuText } from '../../../bench/gpu/machine.js';
import { reportedMemory, usedMemory } from '../../../bench/gpu/soak.js';
import { parseSmi } from '../../../src/gpu/smi.js';

describe('the GPU memory of a long run', () => {
  it('is what the server holds, where it knows that of all its GPUs', () => {
    const known = { memory_used_bytes: 100, memory_own_bytes: 40 };
    expect(reportedMemory([known, known])).toEqual({ gpuBytes: 80, gpuBytesOf: 'own' });
  });

  it('is what all processes use otherwise, and says so', () => {
    const gpus = [{ memory_used_bytes: 100, memory_own_bytes: 40 }, { memory_used_bytes: 7 }];
    expect(reportedMemory(gpus)).toEqual({ gpuBytes: 107, gpuBytesOf: 'all' });
    expect(reportedMemory([{ stale: true }])).toBeUndefined();
    expect(reportedMemory([])).toBeUndefined();
    const asked = parseSmi('0, NVIDIA H200, 580.82.07, 143771, 512\n');
    expect(usedMemory(asked)).toEqual({ gpuBytes: 512 * 2 ** 20, gpuBytesOf: 'all' });
  });

  it('is not known where nobody tells', () => {
    const silent = parseSmi('0, NVIDIA GB10, 580.82.07, [N/A], [N/A]\n');
    expect(usedMemory(silent)).toEqual({ gpuBytes: null, gpuBytesOf: null });
    expect(usedMemory([])).toEqual({ gpuBytes: null, gpuBytesOf: null });
  });
});

describe('a GPU of the machine', () => {
  it('is shown with its driver and memory, as far as it tells', () => {
    const text =
      '0, NVIDIA H200, 580.82.07, 143771, 512\n1, NVIDIA GB10, 580.82.07, [N/A], [N/A]\n';
    expect(parseSmi(text).map(gpuText)).toEqual([
      'NVIDIA H200, 580.82.07, 143771',
      'NVIDIA GB10, 580.82.07, ?',
    ]);
  });
});
