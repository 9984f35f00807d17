import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { thisHost } from '../../src/gpu/host.js';
import {
  installFolders,
  isComplete,
  isSelfContained,
  readInstallRecord,
} from '../../src/gpu/installation.js';
import { fakeHost } from './fake-host.js';

const { root, record } = installFolders(fakeHost(), '/cache');
const PROVIDER = join(root, 'onnxruntime/provider.so');

const recorded = JSON.stringify({
  format: 1,
  wheels: [],
  machineFolders: [],
  files: [{ path: 'onnxruntime/provider.so', bytes: 5 }],
});

describe('an installation', () => {
  it('is complete while all its files are there and as long as they were', () => {
    const holding = (files: Readonly<Record<string, string>>): boolean =>
      isComplete(fakeHost({ files: { [record]: recorded, ...files } }), '/cache');
    expect(holding({ [PROVIDER]: '12345' })).toBe(true);
    expect(holding({ [PROVIDER]: '' })).toBe(false);
    expect(holding({})).toBe(false);
    expect(isComplete(fakeHost({ files: { [PROVIDER]: '12345' } }), '/cache')).toBe(false);
  });

  it('is complete while the machine has what was left out, where an engine looks', () => {
    const old = { format: 1, wheels: [], machineFolders: ['/opt/cudnn'], files: [] };
    const left = JSON.stringify({ ...old, machineLibraries: ['libcudnn.so.9'] });
    const on = (files: Readonly<Record<string, string>>, text = left) =>
      fakeHost({
        files: { [record]: text, ...files },
        environment: { LD_LIBRARY_PATH: '/tmp/other' },
      });
    expect(isComplete(on({ '/opt/cudnn/libcudnn.so.9': '' }), '/cache')).toBe(true);
    expect(isComplete(on({ '/usr/lib/libcudnn.so.9': '' }), '/cache')).toBe(true);
    expect(isComplete(on({}), '/cache')).toBe(false);
    expect(isComplete(on({ '/tmp/other/libcudnn.so.9': '' }), '/cache')).toBe(false);
    // Before these names were recorded, nobody could know.
    expect(isComplete(on({}, JSON.stringify(old)), '/cache')).toBe(true);
  });

  it('is self-contained only if nothing was left out', () => {
    const holding = (machineFolders: string[], machineLibraries?: string[]): boolean => {
      const text = { format: 1, wheels: [], machineFolders, machineLibraries, files: [] };
      const files = { [record]: JSON.stringify(text), '/usr/lib/libx.so': '' };
      return isSelfContained(fakeHost({ files }), '/cache');
    };
    expect(holding([])).toBe(true);
    expect(holding([], [])).toBe(true);
    expect(holding(['/usr/lib'])).toBe(false);
    expect(holding([], ['libx.so'])).toBe(false);
    expect(isSelfContained(fakeHost(), '/cache')).toBe(false);
  });

  it('keeps the names of folders with letters beyond ASCII', () => {
    const cache = mkdtempSync(join(tmpdir(), 'shoal-cache-'));
    const machineFolders = ['/opt/büro lib'];
    const { record: path } = installFolders(thisHost(), cache);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify({ format: 1, wheels: [], machineFolders, files: [] }));
    expect(readInstallRecord(thisHost(), cache)).toMatchObject({ machineFolders });
    rmSync(cache, { recursive: true });
  });
});
