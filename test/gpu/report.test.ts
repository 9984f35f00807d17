import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseGpuArgs } from '../../src/cli/gpu-args.js';
import { GPU_HELP } from '../../src/cli/gpu-help.js';
import { bar, InstallProgress } from '../../src/cli/gpu-progress.js';
import { reportText } from '../../src/cli/gpu-text.js';
import { neededLibraries } from '../../src/gpu/elf.js';
import { installFolders } from '../../src/gpu/installation.js';
import { findGpus } from '../../src/gpu/report.js';
import { packageLibraries } from '../../src/gpu/runtime-files.js';
import { parseSmi } from '../../src/gpu/smi.js';
import { LocalFile } from '../../src/gpu/zip/random-access.js';
import { fakeHost, NVIDIA_FILES } from './fake-host.js';

const SMI = '0, NVIDIA H200, 580.82.07, 143771, 512\n1, NVIDIA H200, 580.82.07, 143771, [N/A]\n';

describe('shoal gpu', () => {
  it('shows a machine that has everything', async () => {
    const folders = installFolders(fakeHost(), '/cache');
    const record = {
      format: 1,
      wheels: [{ name: 'nvidia-cublas', version: '13.8' }],
      machineFolders: [],
      files: [{ path: 'nvidia/libcublas.so.13', bytes: 2 ** 30 }],
    };
    const files = {
      ...NVIDIA_FILES,
      [folders.record]: JSON.stringify(record),
      [join(folders.nvidia, 'libcublas.so.13')]: '',
      '/usr/local/cuda-13.0/lib64/libcudart.so.13': '',
      '/usr/lib/libvulkan.so.1': '',
      '/usr/lib/libEGL_nvidia.so.0': '',
      '/etc/vulkan/icd.d/lvp.json': '{"ICD": {"library_path": "libvulkan_lvp.so"}}',
      '/dev/kfd': '',
      '/opt/rocm/version': '',
    };
    const sizes = { [join(folders.nvidia, 'libcublas.so.13')]: 2 ** 30 };
    const host = fakeHost({ files, sizes });
    const report = await findGpus(host, '/cache', () => Promise.resolve(parseSmi(SMI)));
    expect(report.nvidia).toMatchObject({ driver: '580.82.07', gpuCount: 2, hasSmi: true });
    expect(report.vulkan).toMatchObject({ needsOwnDriverFile: true });
    const text = reportText(report);
    expect(text).toMatch(/GPU 0 +NVIDIA H200, 140\.4 GiB, of which 512 MiB are in use/);
    expect(text).toMatch(/CUDA libraries +1 package, 1\.0 GiB, in \S+$/m);
    expect(text).toMatch(/webgpu +can be tried/);
    expect(text).toContain('/etc/vulkan/icd.d/lvp.json (libvulkan_lvp.so)');
    expect(text).toContain('ROCm in /opt/rocm');
  });

  it.each(['linux', 'darwin', 'win32'] as const)(
    'shows an empty machine (%s)',
    async (platform) => {
      const host = fakeHost({ platform });
      const report = await findGpus(host, '/cache', () => Promise.resolve(undefined));
      expect(reportText(report)).toMatch(/cpu +can be tried/);
      expect(report.devices.find(({ device }) => device === 'cuda')?.canBeTried).toBe(false);
    },
  );

  it('counts GPUs where there is no nvidia-smi', async () => {
    const host = fakeHost({ files: NVIDIA_FILES });
    const report = await findGpus(host, '/cache', () => Promise.resolve(undefined));
    expect(reportText(report)).toMatch(/GPUs +2 NVIDIA GPUs \(no nvidia-smi to ask\)/);
  });

  it('says nothing about memory where a GPU does not', async () => {
    const gpus = parseSmi(`${SMI}2, NVIDIA GB10, 580.82.07, [N/A], [N/A]\n`);
    const report = await findGpus(fakeHost(), '/cache', () => Promise.resolve(gpus));
    expect(reportText(report)).toMatch(/GPU 1 +NVIDIA H200, 140\.4 GiB$/m);
    expect(reportText(report)).toMatch(/GPU 2 +NVIDIA GB10$/m);
  });

  it('makes nothing of an nvidia-smi that fails', () => {
    expect(parseSmi('NVIDIA-SMI has failed because it could not communicate')).toEqual([]);
    expect(parseSmi('')).toEqual([]);
  });
});

describe('the libraries that a shared library needs', () => {
  it.runIf(process.platform === 'linux')('are read from the library itself', async () => {
    const { arch } = process;
    const binding = join(packageLibraries(fakeHost({ arch })), 'onnxruntime_binding.node');
    const file = await LocalFile.open(binding);
    expect(await neededLibraries(file)).toContain('libonnxruntime.so.1');
    await file.close();
  });

  it('are not read from anything else', async () => {
    const file = await LocalFile.open('package.json');
    await expect(neededLibraries(file)).rejects.toThrow('not a shared library');
    await file.close();
  });
});

describe('the arguments of shoal gpu', () => {
  it('name what to do and how', () => {
    expect(parseGpuArgs([])).toMatchObject({ action: 'show', isJson: false });
    expect(parseGpuArgs(['--json', '--cache-dir', 'x'])).toMatchObject({
      isJson: true,
      cacheDir: 'x',
    });
    const urls = ['--index-url', 'https://a', '--extra-index-url', 'https://b'];
    expect(parseGpuArgs(['install', 'cuda', '--dry-run', '--all', ...urls])).toMatchObject({
      action: 'install',
      isDryRun: true,
      isAll: true,
      indexUrl: 'https://a',
      extraIndexUrls: ['https://b'],
    });
    expect(parseGpuArgs(['uninstall', 'cuda'])).toMatchObject({ action: 'uninstall' });
    expect(parseGpuArgs(['install', '--help'])).toBe('help');
  });

  it.each([
    [['instal', 'cuda'], /no command "gpu instal"/],
    [['install'], /say shoal gpu install cuda/],
    [['install', 'rocm'], /say shoal gpu install cuda/],
    [['--dry-run'], /--dry-run is for/],
    [['install', 'cuda', '--json'], /--json is for/],
    [['--cache-di', 'x'], /did you mean --cache-dir/],
  ])('%j is refused with a hint', (args, message) => {
    expect(() => parseGpuArgs(args)).toThrow(message);
  });

  it('are all in the help', () => {
    const flags = ['cache-dir', 'json', 'dry-run', 'all', 'index-url', 'extra-index-url', 'help'];
    for (const flag of flags) expect(GPU_HELP).toContain(`  --${flag}`);
  });
});

describe('the progress of an installation', () => {
  const file = { filename: '', url: '', sha256: '', bytes: 1, isYanked: false, hasMetadata: false };
  const wheel = { name: 'nvidia-x', version: '1.0', file };
  function watch(isTTY: boolean) {
    let [now, text] = [0, ''];
    const screen = { isTTY, columns: 100, write: (more: string) => (text += more) };
    const progress = new InstallProgress(screen, () => now);
    progress.downloading(wheel, 2 ** 20, 4 * 2 ** 20);
    now += 1000;
    progress.downloading(wheel, 4 * 2 ** 20, 4 * 2 ** 20);
    now += 1000;
    progress.unpacking(wheel, 2 ** 20, 2 ** 21);
    progress.done(wheel);
    return text;
  }

  it('is one plain line per package where no person looks on', () => {
    expect(watch(false)).toBe('  nvidia-x 1.0: 4 MiB, 1 MiB were there, 2.0 s\n');
  });

  it('is a bar on a terminal', () => {
    expect(watch(true)).toContain('25 %  1 MiB of 4 MiB  fetching');
    expect(watch(true)).toContain('50 %');
    expect(bar(10, undefined)).toBe('0 KiB');
    expect(bar(20, 10)).toContain('100 %');
  });
});
