import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countGpus, driverVersion, visibleIndexes } from '../../src/gpu/nvidia.js';
import { fakeHost, NVIDIA_FILES } from './fake-host.js';

describe('NVIDIA GPUs', () => {
  it('are counted by the driver, else by their device files', () => {
    expect(countGpus(fakeHost({ files: NVIDIA_FILES }))).toBe(2);
    const files = { '/dev/nvidia0': '', '/dev/nvidia1': '', '/dev/nvidiactl': '' };
    expect(countGpus(fakeHost({ files }))).toBe(2);
    expect(countGpus(fakeHost({ files: { '/dev/dxg': '' } }))).toBe(1);
    expect(countGpus(fakeHost())).toBe(0);
  });

  it('are the ones that CUDA_VISIBLE_DEVICES names, counted anew', () => {
    expect(visibleIndexes(4, undefined)).toEqual([0, 1, 2, 3]);
    expect(visibleIndexes(4, '2,3')).toEqual([0, 1]);
    expect(visibleIndexes(4, ' 3 ')).toEqual([0]);
    expect(visibleIndexes(4, 'GPU-8932f937,MIG-1a2b')).toEqual([0, 1]);
  });

  it('end at the first entry that names none, as for CUDA', () => {
    expect(visibleIndexes(2, '')).toEqual([]);
    expect(visibleIndexes(2, '-1')).toEqual([]);
    expect(visibleIndexes(2, 'NoDevFiles')).toEqual([]);
    expect(visibleIndexes(2, '1,7,0')).toEqual([0]);
  });

  it('have indexes from 0 without gaps, whatever the variable holds', () => {
    const entry = fc.oneof(fc.integer({ min: -2, max: 9 }).map(String), fc.string());
    fc.assert(
      fc.property(fc.nat(8), fc.array(entry), (gpus, entries) => {
        const indexes = visibleIndexes(gpus, entries.join(','));
        expect(indexes).toEqual(indexes.map((_, index) => index));
      }),
    );
  });
});

describe('the version of the NVIDIA driver', () => {
  it('is read from the closed and from the open kernel module', () => {
    expect(driverVersion(fakeHost({ files: NVIDIA_FILES }))).toBe('580.82.07');
    const open =
      'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\n';
    const files = { '/proc/driver/nvidia/version': open };
    expect(driverVersion(fakeHost({ files }))).toBe('570.86.15');
    expect(driverVersion(fakeHost())).toBeUndefined();
  });
});
