import { describe, expect, it } from 'vitest';
import { findLibrary, findSystemLibrary, toolkitFolders } from '../../src/gpu/libraries.js';
import { fakeHost } from './fake-host.js';

describe('a shared library', () => {
  it('is found in the library path first, then where the loader looks', () => {
    const files = { '/opt/x/libcuda.so.1': '', '/usr/lib/x86_64-linux-gnu/libcuda.so.1': '' };
    expect(findLibrary(fakeHost({ files }), 'libcuda.so.1')).toBe(
      '/usr/lib/x86_64-linux-gnu/libcuda.so.1',
    );
    const environment = { LD_LIBRARY_PATH: ':/nowhere:/opt/x' };
    expect(findLibrary(fakeHost({ files, environment }), 'libcuda.so.1')).toBe(
      '/opt/x/libcuda.so.1',
    );
  });

  it('is found by the index of the loader, which may list what is gone or does not fit', () => {
    const index =
      'ld.so-1.7.0\0\0libx.so.1\0/gone/libx.so.1\0libx.so.1\0/usr/lib/i386-linux-gnu/libx.so.1\0' +
      'libx.so.1\0/odd/place/libx.so.1\0liblongx.so.1\0/odd/place/liblongx.so.1\0';
    const files = {
      '/etc/ld.so.cache': index,
      '/usr/lib/i386-linux-gnu/libx.so.1': '',
      '/odd/place/libx.so.1': '',
    };
    expect(findSystemLibrary(fakeHost({ files }), 'libx.so.1')).toBe('/odd/place/libx.so.1');
    expect(findSystemLibrary(fakeHost({ files }), 'longx.so.1')).toBeUndefined();
  });

  it('is found by the index of the loader in a folder with letters beyond ASCII', () => {
    const path = '/opt/büro/libx.so.1';
    const bytes = Buffer.concat([Buffer.from([0xff, 0xfe, 0]), Buffer.from(`${path}\0`)]);
    const host = {
      ...fakeHost({ files: { [path]: '' } }),
      readBytes: (file: string) => (file === '/etc/ld.so.cache' ? bytes : undefined),
    };
    expect(findSystemLibrary(host, 'libx.so.1')).toBe(path);
  });

  it('is found where containers and WSL put drivers, which the loader does not know', () => {
    const files = { '/usr/local/nvidia/lib64/libcuda.so.1': '' };
    expect(findSystemLibrary(fakeHost({ files }), 'libcuda.so.1')).toBeUndefined();
    expect(findLibrary(fakeHost({ files }), 'libcuda.so.1')).toBeDefined();
  });
});

describe('CUDA toolkits of the machine', () => {
  it('are listed once each, the newest first', () => {
    const host = fakeHost({
      files: {
        '/usr/local/cuda-12.9/lib64/libcudart.so.12': '',
        '/usr/local/cuda-13.0/lib64/libcudart.so.13': '',
        '/usr/local/cuda/lib64/libcudart.so.13': '',
        '/usr/local/cudalike/lib64/x': '',
      },
      links: { '/usr/local/cuda/lib64': '/usr/local/cuda-13.0/lib64' },
    });
    expect(toolkitFolders(host)).toEqual([
      '/usr/local/cuda-13.0/lib64',
      '/usr/local/cuda-12.9/lib64',
    ]);
  });
});
