import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CPU, type DeviceName } from '../../src/config/devices.js';
import { deviceEnvironment } from '../../src/gpu/device-environment.js';
import { installFolders } from '../../src/gpu/installation.js';
import { needsOwnDriverFile } from '../../src/gpu/vulkan.js';
import { fakeHost, NVIDIA_FILES } from './fake-host.js';

const on = (name: DeviceName) => ({ name, index: 0 });
const record = (machineFolders: readonly string[]) =>
  JSON.stringify({ format: 1, wheels: [], machineFolders, files: [] });

describe('the environment of an engine', () => {
  it('is that of the server on the CPU and on other systems than Linux', () => {
    expect(deviceEnvironment(CPU, '/cache')).toEqual({});
    for (const platform of ['darwin', 'win32'] as const) {
      expect(deviceEnvironment(on('webgpu'), '/cache', fakeHost({ platform }))).toEqual({});
      expect(deviceEnvironment(on('cuda'), '/cache', fakeHost({ platform }))).toEqual({});
    }
  });

  it('has the installed libraries before all others for CUDA', () => {
    const folders = installFolders(fakeHost(), '/cache');
    const host = fakeHost({
      environment: { LD_LIBRARY_PATH: '/mine:/usr/local/nvidia/lib64' },
      files: {
        [folders.record]: record(['/opt/cudnn']),
        '/usr/local/nvidia/lib64/libcuda.so.1': '',
        '/usr/local/cuda/lib64/libcudart.so.13': '',
      },
    });
    for (const device of ['cuda', 'tensorrt'] as const) {
      expect(deviceEnvironment(on(device), '/cache', host)).toEqual({
        CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
        LD_LIBRARY_PATH: `${folders.runtime}:${folders.nvidia}:/opt/cudnn:/usr/local/nvidia/lib64:/mine`,
      });
    }
  });

  it('has the toolkit of the machine where nothing is installed', () => {
    const host = fakeHost({ files: { '/usr/local/cuda/lib64/libcudart.so.13': '' } });
    expect(deviceEnvironment(on('cuda'), '/cache', host)).toMatchObject({
      LD_LIBRARY_PATH: '/usr/local/cuda/lib64',
    });
    expect(deviceEnvironment(on('cuda'), '/cache', fakeHost())).not.toHaveProperty(
      'LD_LIBRARY_PATH',
    );
  });

  it('counts GPUs as the driver does, unless somebody wants it otherwise', () => {
    const order = (environment: Record<string, string>): string | undefined =>
      deviceEnvironment(on('cuda'), '/cache', fakeHost({ environment }))['CUDA_DEVICE_ORDER'];
    expect(order({})).toBe('PCI_BUS_ID');
    expect(order({ CUDA_DEVICE_ORDER: 'FASTEST_FIRST' })).toBe('FASTEST_FIRST');
  });
});

describe('the environment of an engine with WebGPU', () => {
  let cache = '';
  beforeEach(() => {
    cache = mkdtempSync(join(tmpdir(), 'shoal-gpu-'));
  });
  afterEach(() => {
    rmSync(cache, { recursive: true });
  });
  const EGL = { ...NVIDIA_FILES, '/usr/lib/x86_64-linux-gnu/libEGL_nvidia.so.0': '' };
  const stock = JSON.stringify({ ICD: { library_path: 'libGLX_nvidia.so.0' } });
  const STOCK = { ...EGL, '/usr/share/vulkan/icd.d/nvidia_icd.json': stock };

  it('names the driver that needs no screen where the usual one cannot work', () => {
    const { VK_ICD_FILENAMES: path = '' } = deviceEnvironment(
      on('webgpu'),
      cache,
      fakeHost({ files: STOCK }),
    );
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
      ICD: { library_path: 'libEGL_nvidia.so.0' },
    });
    expect(readdirSync(join(cache, 'gpu'))).toHaveLength(1);
  });

  it('leaves a driver alone that works, and one that someone has set', () => {
    const screen = Object.fromEntries(
      ['libGLX_nvidia.so.0', 'libX11.so.6', 'libXext.so.6'].map((name) => [`/usr/lib/${name}`, '']),
    );
    const working = fakeHost({ files: { ...STOCK, ...screen } });
    expect(deviceEnvironment(on('webgpu'), cache, working)).toEqual({});
    for (const name of ['VK_ICD_FILENAMES', 'VK_DRIVER_FILES']) {
      const host = fakeHost({ files: STOCK, environment: { [name]: '/some.json' } });
      expect(deviceEnvironment(on('webgpu'), cache, host)).toEqual({});
    }
    expect(readdirSync(cache)).toEqual([]);
  });

  it('finds a Vulkan loader that lies in the cache folder', () => {
    const host = fakeHost({ files: { [join(cache, 'libvulkan.so.1')]: '' } });
    expect(deviceEnvironment(on('webgpu'), cache, host)).toEqual({ LD_LIBRARY_PATH: cache });
  });

  it('does without a driver file of its own where none can be written', () => {
    const file = join(cache, 'file');
    writeFileSync(file, '');
    expect(deviceEnvironment(on('webgpu'), file, fakeHost({ files: STOCK }))).toEqual({});
  });
});

describe('needsOwnDriverFile', () => {
  const findings = { isSet: false, hasEglDriver: true, hasGlxDriver: false, drivers: [] };
  const driver = (library: string) => ({ path: '/x.json', library });

  it('is for NVIDIA only, and only where no other driver file makes its GPU work', () => {
    expect(needsOwnDriverFile(findings)).toBe(true);
    expect(needsOwnDriverFile({ ...findings, hasEglDriver: false })).toBe(false);
    const software = [driver('/usr/lib/libvulkan_lvp.so'), driver('')];
    expect(needsOwnDriverFile({ ...findings, drivers: software })).toBe(true);
    const egl = [driver('/usr/lib/libEGL_nvidia.so.0')];
    expect(needsOwnDriverFile({ ...findings, drivers: egl })).toBe(false);
    const glx = [driver('libGLX_nvidia.so.0')];
    expect(needsOwnDriverFile({ ...findings, drivers: glx })).toBe(true);
    expect(needsOwnDriverFile({ ...findings, drivers: glx, hasGlxDriver: true })).toBe(false);
  });
});
