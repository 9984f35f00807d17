import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { thisHost } from '../../src/gpu/host.js';
import { installCuda } from '../../src/gpu/install/install.js';
import { installPlatform } from '../../src/gpu/install/platform.js';
import { installFolders, isComplete } from '../../src/gpu/installation.js';
import { Web } from '../../src/gpu/net/web.js';
import type { Wheel } from '../../src/gpu/wheels/package-index.js';
import { FakeIndex } from '../gpu/fake-index.js';
import { cudaWheels, LIBRARIES } from '../gpu/fake-wheels.js';
import { runCli, runToEnd } from '../helpers/server.js';

const wheels = cudaWheels();
const [runtimeWheel] = wheels;
const PROVIDER = 'libonnxruntime_providers_cuda.so';
const content = runtimeWheel?.files[`onnxruntime/capi/${PROVIDER}`];
let cache = '';
let index: FakeIndex;

beforeEach(async () => {
  cache = mkdtempSync(join(tmpdir(), 'shoal-cache-'));
  index = await FakeIndex.start(wheels);
});
afterEach(() => {
  index.stop();
  rmSync(cache, { recursive: true });
});

const args = (): string[] => ['gpu', 'install', 'cuda', '--index-url', index.url];
const environment = (): Record<string, string> => ({
  SHOAL_CACHE_DIR: cache,
  PIP_EXTRA_INDEX_URL: '',
});
const install = (): ReturnType<typeof runToEnd> => runToEnd(args(), environment());

/** Starts an installation and kills it once this much of the given package has arrived. */
async function killAt(bytes: number, project: string): Promise<void> {
  const child = runCli(args(), environment());
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const { downloads } = installFolders(thisHost(), cache);
  const isPart = (name: string): boolean => name.includes(project.replaceAll('-', '_'));
  await vi.waitFor(
    () => {
      const part = readdirSync(downloads).find(isPart) ?? 'not there yet';
      expect(statSync(join(downloads, part)).size).toBe(bytes);
    },
    { timeout: 30_000, interval: 20 },
  );
  child.kill('SIGKILL');
  await ended;
}

/** Installs in this process, which can be stopped after a package. */
async function installUntil(onWheelDone: (wheel: Wheel) => void): Promise<void> {
  const host = thisHost();
  const indexUrls = [index.url];
  const nothing = (): void => undefined;
  await installCuda(
    {
      host,
      platform: installPlatform(host),
      cacheFolder: cache,
      web: new Web({ indexUrls, hasProxy: false }),
      indexUrls,
      isAll: false,
      isDryRun: false,
    },
    {
      onPlan: nothing,
      onWait: nothing,
      onKept: nothing,
      onSkip: nothing,
      onDownload: nothing,
      onUnpack: nothing,
      onWheelDone,
    },
  );
}

describe.runIf(process.platform === 'linux')('an installation that is broken off', () => {
  it('goes on with the byte at which it ended', async () => {
    Object.assign(index.manners, { breaks: 1, breakAfter: 123_456, stalls: true });
    await killAt(123_456, 'onnxruntime-gpu');
    expect(isComplete(thisHost(), cache)).toBe(false);
    const { code, stderr } = await install();
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toMatch(/onnxruntime-gpu \S+: .* were there/);
    expect(index.ranges.map(({ start }) => start)).toContain(123_456);
    expect(index.bytesSentOf('onnxruntime-gpu')).toBe(index.sizeOf('onnxruntime-gpu'));
    const { runtime } = installFolders(thisHost(), cache);
    expect(readFileSync(join(runtime, PROVIDER)).equals(content as Buffer)).toBe(true);
  });

  it('does not fetch again what it has unpacked', async () => {
    const breakIn = 'nvidia-cudnn-cu13';
    Object.assign(index.manners, { breakIn, breaks: 1, breakAfter: 50_000, stalls: true });
    await killAt(50_000, breakIn);
    const { code, stderr } = await install();
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toContain('2 packages left by an earlier attempt');
    for (const { project } of wheels) {
      expect(index.bytesSentOf(project), project).toBe(index.sizeOf(project));
    }
  });

  it.each([
    ['', false],
    [', but read their metadata', true],
  ])('does not fetch again either where nobody can look into wheels%s', async (_, metadata) => {
    Object.assign(index.manners, { ranges: false, metadata });
    const stop = ({ name }: Wheel): void => {
      if (name === 'nvidia-cuda-runtime') throw new Error('killed');
    };
    await expect(installUntil(stop)).rejects.toThrow('killed');
    // What is unpacked stays part of the plan, even if the machine has it by now.
    writeFileSync(join(cache, LIBRARIES[0]), '');
    const found = { ...environment(), LD_LIBRARY_PATH: cache };
    const { code, stderr } = await runToEnd(args(), found);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toContain('2 packages left by an earlier attempt');
    for (const { project } of wheels) {
      expect(index.bytesSentOf(project), project).toBe(index.sizeOf(project));
    }
  });

  it('goes on by itself when a connection breaks', async () => {
    Object.assign(index.manners, { breaks: 1, breakAfter: 200_000 });
    const { code, stderr } = await install();
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toMatch(/; trying again in 1 s/);
    expect(isComplete(thisHost(), cache)).toBe(true);
  });

  it('starts over where the server does not know ranges', async () => {
    Object.assign(index.manners, { breaks: 1, breakAfter: 100_000, stalls: true });
    await killAt(100_000, 'onnxruntime-gpu');
    index.manners.ranges = false;
    const { code, stderr } = await install();
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const { runtime } = installFolders(thisHost(), cache);
    expect(readFileSync(join(runtime, PROVIDER)).equals(content as Buffer)).toBe(true);
  });

  it('starts over where what was there turns out to be damaged', async () => {
    Object.assign(index.manners, { breaks: 1, breakAfter: 100_000, stalls: true });
    await killAt(100_000, 'onnxruntime-gpu');
    const { downloads, runtime } = installFolders(thisHost(), cache);
    const [part = ''] = readdirSync(downloads);
    writeFileSync(join(downloads, part), Buffer.alloc(100_000));
    const { code, stderr } = await install();
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(readFileSync(join(runtime, PROVIDER)).equals(content as Buffer)).toBe(true);
  });

  it('is repeated where files of it were removed by hand or damaged', async () => {
    await install();
    const { nvidia, runtime } = installFolders(thisHost(), cache);
    const spoils = [
      () => {
        rmSync(nvidia, { recursive: true });
      },
      () => {
        truncateSync(join(runtime, PROVIDER));
      },
    ];
    for (const spoil of spoils) {
      spoil();
      const { code, stdout } = await install();
      expect(code).toBe(0);
      expect(stdout).toContain('CUDA is installed:');
      expect(isComplete(thisHost(), cache)).toBe(true);
    }
  });
});

describe.runIf(process.platform === 'linux')('two installations at once', () => {
  it('fetch everything once, and both end well', async () => {
    const outcomes = await Promise.all([install(), install()]);
    expect(outcomes.map(({ code }) => code)).toEqual([0, 0]);
    const texts = outcomes.map(({ stdout }) => stdout);
    expect(texts.filter((text) => text.includes('CUDA is installed:'))).toHaveLength(1);
    expect(texts.filter((text) => text.includes('installed already'))).toHaveLength(1);
    for (const { project } of wheels) {
      expect(index.bytesSentOf(project), project).toBe(index.sizeOf(project));
    }
  });
});
