import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEVICES } from '../../src/config/devices.js';
import { installFolders } from '../../src/gpu/installation.js';
import { packageLibraries } from '../../src/gpu/runtime-files.js';
import { deviceIndexes, whyNot } from '../../src/gpu/why-not.js';
import { fakeHost, NVIDIA_FILES } from './fake-host.js';

const CACHE = '/cache';
const RECORD = JSON.stringify({ format: 1, wheels: [], machineFolders: [], files: [] });
const { record, runtime } = installFolders(fakeHost(), CACHE);
const INSTALLED = {
  [record]: RECORD,
  [join(runtime, 'libonnxruntime_providers_cuda.so')]: '',
  [join(runtime, 'libonnxruntime_providers_tensorrt.so')]: '',
};

describe('whyNot', () => {
  it('says what is missing for CUDA, one thing after the other', () => {
    const why = (files: Record<string, string>, environment = {}) =>
      whyNot('cuda', CACHE, fakeHost({ files, environment }));
    const { '/usr/lib/x86_64-linux-gnu/libcuda.so.1': libcuda = '' } = NVIDIA_FILES;
    expect(why({})).toMatch(/driver is not installed \(no libcuda\.so\.1\)/);
    expect(why({ '/usr/lib/libcuda.so.1': libcuda })).toMatch(/no NVIDIA GPU/);
    expect(why({ ...NVIDIA_FILES }, { CUDA_VISIBLE_DEVICES: '' })).toMatch(/hides all/);
    expect(why({ ...NVIDIA_FILES })).toMatch(/run shoal gpu install cuda/);
    expect(why({ ...NVIDIA_FILES, ...INSTALLED })).toBeUndefined();
  });

  it('does not take half an installation for one', () => {
    const files = { ...NVIDIA_FILES, ...INSTALLED, [record]: RECORD.slice(0, -2) };
    expect(whyNot('cuda', CACHE, fakeHost({ files }))).toMatch(/not installed/);
    const unrecorded = Object.fromEntries(
      Object.entries(INSTALLED).filter(([path]) => path !== record),
    );
    expect(whyNot('cuda', CACHE, fakeHost({ files: { ...NVIDIA_FILES, ...unrecorded } }))).toMatch(
      /not installed/,
    );
  });

  it('accepts a provider beside the runtime of the package', () => {
    const provider = join(packageLibraries(fakeHost()), 'libonnxruntime_providers_cuda.so');
    const files = { ...NVIDIA_FILES, [provider]: '' };
    expect(whyNot('cuda', CACHE, fakeHost({ files }))).toBeUndefined();
  });

  it('wants the libraries of TensorRT for TensorRT', () => {
    const files = { ...NVIDIA_FILES, ...INSTALLED };
    expect(whyNot('tensorrt', CACHE, fakeHost({ files }))).toMatch(/libnvinfer/);
    const more = { ...files, '/usr/lib/libnvinfer.so.10': '' };
    expect(whyNot('tensorrt', CACHE, fakeHost({ files: more }))).toBeUndefined();
  });

  it('wants a Vulkan loader for WebGPU on Linux, the machine’s or one in the cache folder, and a driver', () => {
    expect(whyNot('webgpu', CACHE, fakeHost())).toMatch(/libvulkan1/);
    for (const path of ['/usr/lib/libvulkan.so.1', '/cache/libvulkan.so.1']) {
      expect(whyNot('webgpu', CACHE, fakeHost({ files: { [path]: '' } }))).toMatch(/driver/);
      for (const driver of ['/usr/share/vulkan/icd.d/intel.json', '/usr/lib/libEGL_nvidia.so.0']) {
        const files = { [path]: '', [driver]: '' };
        expect(whyNot('webgpu', CACHE, fakeHost({ files }))).toBeUndefined();
      }
    }
    expect(whyNot('webgpu', CACHE, fakeHost({ platform: 'darwin' }))).toBeUndefined();
  });

  it('knows which devices belong to which system', () => {
    const possible = (platform: NodeJS.Platform) =>
      DEVICES.filter((device) => whyNot(device, CACHE, fakeHost({ platform })) === undefined);
    expect(possible('linux')).toEqual(['cpu']);
    expect(possible('darwin')).toEqual(['cpu', 'webgpu', 'coreml']);
    expect(possible('win32')).toEqual(['cpu', 'webgpu', 'dml']);
  });

  it('always has an answer in one line for the real machine', () => {
    for (const device of DEVICES) expect(whyNot(device, CACHE) ?? '').not.toContain('\n');
    expect(whyNot('cpu', CACHE)).toBeUndefined();
  });
});

describe('deviceIndexes', () => {
  it('lists NVIDIA GPUs for CUDA and TensorRT, and one for everything else', () => {
    const host = fakeHost({ files: NVIDIA_FILES });
    expect(deviceIndexes('cuda', host)).toEqual([0, 1]);
    expect(deviceIndexes('tensorrt', host)).toEqual([0, 1]);
    expect(deviceIndexes('webgpu', host)).toEqual([0]);
    expect(deviceIndexes('cpu', host)).toEqual([0]);
  });
});
