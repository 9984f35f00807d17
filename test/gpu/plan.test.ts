import { describe, expect, it } from 'vitest';
import { contentsOf, libraryNames, unpackedBytes } from '../../src/gpu/install/contents.js';
import type { InspectedWheel } from '../../src/gpu/install/inspect-wheel.js';
import { lackOfSpace } from '../../src/gpu/install/install.js';
import { foldersOnMachine } from '../../src/gpu/install/on-machine.js';
import { neededBytes } from '../../src/gpu/install/plan.js';
import { installPlatform } from '../../src/gpu/install/platform.js';
import { resolveWheels } from '../../src/gpu/install/resolve.js';
import type { Wheel } from '../../src/gpu/wheels/package-index.js';
import { parseRequirement } from '../../src/gpu/wheels/requirement.js';
import { Specifier } from '../../src/gpu/wheels/specifier.js';
import { parseVersion, type Version } from '../../src/gpu/wheels/version.js';
import { fakeHost } from './fake-host.js';

const entry = (name: string, bytes = 10) => ({
  name,
  bytes,
  method: 8,
  crc32: 0,
  compressedBytes: bytes,
  headerOffset: 0,
});

function wheelOf(name: string, version: string): Wheel {
  const url = `https://files.example/${name}-${version}`;
  const file = { filename: name, url, sha256: '', bytes: 1, isYanked: false, hasMetadata: false };
  return { name, version, file };
}

/** Resolves against packages that are given as name → version → requirements. */
async function resolve(packages: Record<string, Record<string, string[]>>): Promise<string[]> {
  const wheels = await resolveWheels('1.30.0', 'x64', {
    newest: (name, wanted) => {
      const fitting = Object.keys(packages[name] ?? {}).findLast((version) =>
        wanted.every((specifier) => specifier.allows(parseVersion(version) as Version)),
      );
      if (fitting === undefined) return Promise.reject(new Error(`no ${name}`));
      return Promise.resolve(wheelOf(name, fitting));
    },
    inspect: (wheel) => {
      const requirements = packages[wheel.name]?.[wheel.version]?.map(parseRequirement) ?? [];
      return Promise.resolve<InspectedWheel>({
        wheel,
        requirements,
        downloadBytes: 1,
        contents: undefined,
      });
    },
  });
  return wheels.map(({ wheel }) => `${wheel.name} ${wheel.version}`).sort();
}

describe('the packages to install', () => {
  const root = {
    '1.30.0': [
      'numpy',
      'nvidia-cuda-runtime~=13.0; extra == "cuda"',
      'nvidia-cudnn-cu13~=9.0; extra == "cudnn"',
      'nvidia-odd; extra == "other"',
    ],
  };

  it('are those of two extras and what they need, in the version of CUDA that fits', async () => {
    const packages = {
      'onnxruntime-gpu': root,
      'nvidia-cuda-runtime': { '13.4': [], '14.0': [] },
      'nvidia-cudnn-cu13': { '9.27': ['nvidia-cublas', 'setuptools'] },
      'nvidia-cublas': { '13.8': ['nvidia-cuda-nvrtc'], '14.1': [] },
      'nvidia-cuda-nvrtc': { '13.4': [], '14.0': [] },
    };
    expect(await resolve(packages)).toEqual([
      'nvidia-cublas 13.8',
      'nvidia-cuda-nvrtc 13.4',
      'nvidia-cuda-runtime 13.4',
      'nvidia-cudnn-cu13 9.27',
      'onnxruntime-gpu 1.30.0',
    ]);
  });

  it('are older where one asks for it, and without those that are not needed then', async () => {
    const packages = {
      'onnxruntime-gpu': root,
      'nvidia-cuda-runtime': { '13.1': [], '13.4': ['nvidia-extra'] },
      'nvidia-cudnn-cu13': { '9.27': ['nvidia-cuda-runtime<13.4'] },
      'nvidia-extra': { '1.0': [] },
    };
    expect(await resolve(packages)).toEqual([
      'nvidia-cuda-runtime 13.1',
      'nvidia-cudnn-cu13 9.27',
      'onnxruntime-gpu 1.30.0',
    ]);
  });

  it('are refused when they contradict each other for ever', async () => {
    const packages = {
      'onnxruntime-gpu': { '1.30.0': ['nvidia-a; extra == "cuda"'] },
      'nvidia-a': { '1': [], '2': ['nvidia-b'] },
      'nvidia-b': { '1': ['nvidia-a<2'] },
    };
    await expect(resolve(packages)).rejects.toThrow(/contradict/);
  });
});

describe('what is unpacked of a wheel', () => {
  it('are NVIDIA’s libraries and licences, and nothing for Python', () => {
    const contents = contentsOf('nvidia-cublas', [
      entry('nvidia/cu13/lib/libcublas.so.13'),
      entry('nvidia/cu13/lib/libcublas_static.a'),
      entry('nvidia/cu13/include/cublas.h'),
      entry('nvidia_cublas-13.dist-info/licenses/License.txt', 5),
      entry('nvidia_cublas-13.dist-info/METADATA'),
    ]);
    expect(libraryNames(contents)).toEqual(['libcublas.so.13']);
    expect(unpackedBytes(contents)).toBe(15);
  });

  it('are only the providers of ONNX Runtime’s', () => {
    const contents = contentsOf('onnxruntime-gpu', [
      entry('onnxruntime/capi/libonnxruntime_providers_cuda.so'),
      entry('onnxruntime/capi/libonnxruntime.so.1.30.0'),
      entry('onnxruntime/capi/onnxruntime_pybind11_state.so'),
    ]);
    expect(libraryNames(contents)).toEqual(['libonnxruntime_providers_cuda.so']);
  });

  it('is refused when it is nothing, too much or twice the same', () => {
    expect(() => contentsOf('x', [entry('x.py')])).toThrow(/no libraries/);
    expect(() => contentsOf('x', [entry('lib/libx.so', 2 ** 40)])).toThrow(/claims/);
    expect(() => contentsOf('x', [entry('a/lib/libx.so'), entry('b/lib/libx.so')])).toThrow(
      /twice/,
    );
  });
});

describe('libraries of the machine', () => {
  const wanted = [Specifier.parse('~=13.1')];
  const files = {
    '/usr/local/cuda/lib64/libcudart.so.13': '',
    '/usr/lib/x86_64-linux-gnu/libnvrtc.so.13': '',
  };
  const link = '/usr/local/cuda/lib64/libcudart.so.13';
  const versioned = (version: string) =>
    fakeHost({ files, links: { [link]: `${link}.${version}` } });

  it('make a download needless when all are there in a version that fits', () => {
    expect(foldersOnMachine(versioned('2.9'), ['libcudart.so.13'], wanted)).toEqual([
      '/usr/local/cuda/lib64',
    ]);
    expect(foldersOnMachine(versioned('0.9'), ['libcudart.so.13'], wanted)).toBeUndefined();
    const both = ['libcudart.so.13', 'libnvrtc.so.13'];
    expect(foldersOnMachine(fakeHost({ files }), both, wanted)).toEqual(['/usr/local/cuda/lib64']);
    expect(foldersOnMachine(fakeHost({ files }), [...both, 'libx.so'], wanted)).toBeUndefined();
  });
});

describe('the space for an installation', () => {
  it('is all that is unpacked, the largest wheel and the runtime', () => {
    const planned = (downloadBytes: number | undefined, unpacked: number | undefined) => ({
      wheel: wheelOf('x', '1'),
      downloadBytes,
      unpackedBytes: unpacked,
    });
    expect(neededBytes([planned(5, 10), planned(7, 20), planned(undefined, undefined)], 3)).toBe(
      40,
    );
    expect(neededBytes([], 3)).toBe(3);
  });

  it('is asked for before anything is downloaded', () => {
    expect(lackOfSpace(5, 5, '/cache')).toBeUndefined();
    expect(lackOfSpace(3 * 2 ** 30, 2 ** 30, '/cache')).toBe(
      '3.0 GiB are needed in /cache, 1.0 GiB are free; make room or choose another folder with --cache-dir',
    );
  });
});

describe('the platform', () => {
  it('is Linux with glibc, or the error names what to use instead', () => {
    expect(installPlatform(fakeHost(), '2.36')).toEqual({ arch: 'x64', glibc: '2.36' });
    expect(() => installPlatform(fakeHost({ platform: 'darwin' }))).toThrow(/coreml or webgpu/);
    expect(() => installPlatform(fakeHost({ platform: 'win32' }))).toThrow(/dml or webgpu/);
    expect(() => installPlatform(fakeHost({ arch: 'riscv64' }))).toThrow(/x64, arm64/);
  });
});
