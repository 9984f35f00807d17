import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { thisHost } from '../../src/gpu/host.js';
import { installFolders } from '../../src/gpu/installation.js';
import type { GpuReport } from '../../src/gpu/report.js';
import { fakeElf } from '../gpu/fake-elf.js';
import { FakeIndex, type FakeWheel, type IndexManners } from '../gpu/fake-index.js';
import { cudaWheels, LIBRARIES } from '../gpu/fake-wheels.js';
import { runToEnd } from '../helpers/server.js';

const RUNTIME = 'node_modules/onnxruntime-node/bin/napi-v6';
let cache = '';
let index: FakeIndex;

beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'shoal-cache-'));
});
afterEach(() => {
  index.stop();
  rmSync(cache, { recursive: true });
});

async function startIndex(manners: Partial<IndexManners> = {}): Promise<void> {
  index = await FakeIndex.start(cudaWheels(), manners);
}

function shoal(...args: string[]): ReturnType<typeof runToEnd> {
  return shoalWith({}, ...args);
}

function shoalWith(
  more: Readonly<Record<string, string>>,
  ...args: string[]
): ReturnType<typeof runToEnd> {
  const environment = { SHOAL_CACHE_DIR: cache, PIP_INDEX_URL: index.url, PIP_EXTRA_INDEX_URL: '' };
  return runToEnd(['gpu', ...args], { ...environment, ...more });
}

function installedFiles(): string[] {
  const { root } = installFolders(thisHost(), cache);
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) => join(file.parentPath, file.name).slice(root.length + 1))
    .sort();
}

describe.runIf(process.platform === 'linux')('shoal gpu install cuda', () => {
  it('installs the provider beside a copy of the runtime, and NVIDIA’s libraries', async () => {
    await startIndex();
    const before = readdirSync(RUNTIME, { recursive: true, encoding: 'utf8' });
    const touched = before.map((name) => statSync(join(RUNTIME, name)).mtimeMs);
    const { code, stdout, stderr } = await shoal('install', 'cuda');
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stdout).toMatch(/nvidia-cublas +13\.8\.2\.12/);
    expect(stdout).toContain('CUDA is installed');

    const libraries = installedFiles().filter((path) => !path.startsWith('licences'));
    expect(libraries).toEqual(
      [
        'installed.json',
        ...LIBRARIES.map((name) => `nvidia/${name}`),
        'onnxruntime/libonnxruntime.so.1',
        ...['cuda', 'shared', 'tensorrt'].map(
          (name) => `onnxruntime/libonnxruntime_providers_${name}.so`,
        ),
      ].sort(),
    );
    expect(installedFiles().filter((path) => path.startsWith('licences'))).toHaveLength(5);
    // No downloads, locks or half-made folders stay behind.
    expect(readdirSync(join(cache, 'gpu'))).toHaveLength(1);
    const after = readdirSync(RUNTIME, { recursive: true, encoding: 'utf8' });
    expect(after).toEqual(before);
    expect(after.map((name) => statSync(join(RUNTIME, name)).mtimeMs)).toEqual(touched);

    const { runtime } = installFolders(thisHost(), cache);
    const own = readFileSync(join(RUNTIME, 'linux', process.arch, 'libonnxruntime.so.1'));
    expect(readFileSync(join(runtime, 'libonnxruntime.so.1')).equals(own)).toBe(true);

    const report = JSON.parse((await shoal('--json')).stdout) as GpuReport;
    expect(report.cuda.installed).toMatchObject({ isComplete: true });
    expect(report.cuda.provider).toContain(cache);

    index.paths.length = 0;
    const again = await shoal('install', 'cuda');
    expect(again).toMatchObject({ code: 0 });
    expect(again.stdout).toContain('installed already');
    expect(index.paths).toEqual([]);
  });

  it.each<Partial<IndexManners>>([
    { json: false },
    { metadata: true },
    { json: false, metadata: true, ranges: false },
    { ranges: false },
    { password: 'someone:s3cret' },
  ])('gets the same from an index with these manners: %o', async (manners) => {
    await startIndex(manners);
    const { code, stdout, stderr } = await shoal('install', 'cuda');
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(installedFiles()).toHaveLength(13);
    expect(stdout + stderr).not.toContain('s3cret');
    for (const project of ['onnxruntime-gpu', 'nvidia-cudnn-cu13']) {
      expect(index.bytesSentOf(project)).toBe(index.sizeOf(project));
    }
  });

  it('fetches what it left out once the machine does not have it any more, or all is wanted', async () => {
    await startIndex();
    const own = join(cache, 'büro lib');
    mkdirSync(own);
    writeFileSync(join(own, LIBRARIES[1]), '');
    const found = { LD_LIBRARY_PATH: own };
    const left = `nvidia/${LIBRARIES[1]}`;
    const first = await shoalWith(found, 'install', 'cuda');
    expect(first.stdout).toContain('left out, since the machine has them: nvidia-cudnn-cu13');
    expect(installedFiles()).not.toContain(left);
    expect((await shoalWith(found, 'install', 'cuda')).stdout).toContain('installed already');

    const all = await shoalWith(found, 'install', 'cuda', '--all');
    expect(all.stdout).toContain('CUDA is installed:');
    expect(installedFiles()).toContain(left);
    const again = await shoalWith(found, 'install', 'cuda', '--all');
    expect(again.stdout).toContain('installed already');

    await shoal('uninstall', 'cuda');
    await shoalWith(found, 'install', 'cuda');
    rmSync(own, { recursive: true });
    expect((await shoal('install', 'cuda')).stdout).toContain('CUDA is installed:');
    expect(installedFiles()).toContain(left);
  });

  it('says every time what is still missing', async () => {
    const [runtime, ...others] = cudaWheels();
    const provider = 'onnxruntime/capi/libonnxruntime_providers_cuda.so';
    const files = { ...runtime?.files, [provider]: fakeElf('libcushoal.so.1') };
    index = await FakeIndex.start([{ ...(runtime as FakeWheel), files }, ...others]);
    for (const outcome of ['CUDA is installed:', 'installed already']) {
      const { stdout } = await shoal('install', 'cuda');
      expect(stdout).toContain(outcome);
      expect(stdout).toContain('not found yet: libcushoal.so.1');
    }
  });

  it('only says what it would do in a dry run', async () => {
    await startIndex();
    const { code, stdout } = await shoal('install', 'cuda', '--dry-run');
    expect(code).toBe(0);
    expect(stdout).toMatch(/4 packages/);
    expect(readdirSync(cache)).toEqual([]);
  });

  it('refuses a wheel whose hash is not that of the index, and leaves nothing of it', async () => {
    await startIndex({ wrongHash: 'ab'.repeat(32) });
    const { code, stderr } = await shoal('install', 'cuda');
    expect(code).toBe(1);
    expect(stderr).toMatch(/shoal: onnxruntime_gpu\S+ is not what the index announces/);
    expect(existsSync(installFolders(thisHost(), cache).root)).toBe(false);
    expect(readdirSync(join(cache, 'gpu', 'downloads'))).toEqual([]);
  });

  it('says in one line what is wrong, and never a password', async () => {
    await startIndex({ password: 'someone:s3cret' });
    const wrong = index.url.replace('s3cret', 'wr0ng');
    const refused = await shoal('install', 'cuda', '--index-url', wrong);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^shoal: http:\/\/127\S+ answers 401; put a user name/);
    expect(refused.stderr).not.toContain('wr0ng');
    const empty = `${index.url}/nothing`;
    const unknown = await shoal('install', 'cuda', '--index-url', empty);
    expect(unknown.stderr).toMatch(/^shoal: onnxruntime-gpu is not on http:\/\/127\S+nothing\n$/);
  });

  it('finds on an extra index what the first does not have', async () => {
    await startIndex();
    const first = await FakeIndex.start([]);
    const { code } = await shoal(
      ...['install', 'cuda', '--index-url', first.url, '--extra-index-url', index.url],
    );
    first.stop();
    expect(code).toBe(0);
    expect(installedFiles()).toHaveLength(13);
  });

  it('is undone by uninstall', async () => {
    await startIndex();
    expect((await shoal('uninstall', 'cuda')).stdout).toContain('not installed');
    await shoal('install', 'cuda');
    const { code, stdout } = await shoal('uninstall', 'cuda');
    expect(code).toBe(0);
    expect(stdout).toContain('CUDA is removed');
    expect(readdirSync(join(cache, 'gpu'))).toEqual([]);
  });
});
