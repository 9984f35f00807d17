import { describe, expect, it } from 'vitest';
import { othersText, reportText } from '../../src/cli/gpu-text.js';
import { installFolders } from '../../src/gpu/installation.js';
import { otherVersions } from '../../src/gpu/other-versions.js';
import { findGpus } from '../../src/gpu/report.js';
import { onnxRuntimeVersion } from '../../src/gpu/runtime-files.js';
import { whyNot } from '../../src/gpu/why-not.js';
import { fakeHost, NVIDIA_FILES } from './fake-host.js';

const now = onnxRuntimeVersion();
const record = (bytes: number): string =>
  JSON.stringify({ format: 1, wheels: [], machineFolders: [], files: [{ path: 'x', bytes }] });
const OLD = {
  '/cache/gpu/cuda-1.9.0-linux-x64/installed.json': record(3 * 2 ** 30),
  '/cache/gpu/cuda-1.9.0-linux-arm64/installed.json': record(1),
  '/cache/gpu/cuda-1.8.0-linux-x64.staging/plan': '',
  '/cache/gpu/cuda-1.7.0-linux-x64/half': '',
  '/cache/gpu/downloads/x.part': '',
};
const CURRENT = { [installFolders(fakeHost(), '/cache').record]: record(1) };

describe('what was installed for another version of ONNX Runtime', () => {
  it('is found with its size, and nothing else is', () => {
    const folder = '/cache/gpu/cuda-1.9.0-linux-x64';
    const host = fakeHost({ files: { ...OLD, ...CURRENT } });
    expect(otherVersions(host, '/cache')).toEqual([
      { version: '1.9.0', folder, bytes: 3 * 2 ** 30 },
    ]);
    expect(otherVersions(fakeHost(), '/cache')).toEqual([]);
  });

  it('is named after an installation, with how to remove it', () => {
    expect(othersText(otherVersions(fakeHost({ files: OLD }), '/cache'))).toBe(
      'CUDA for ONNX Runtime 1.9.0 is still there: 3.0 GiB, in /cache/gpu/cuda-1.9.0-linux-x64; ' +
        'remove it if nothing uses it, or all versions with shoal gpu uninstall cuda',
    );
  });

  it('is shown instead of nothing where this version is not installed', async () => {
    const host = fakeHost({ files: { ...OLD, ...NVIDIA_FILES } });
    const text = reportText(await findGpus(host, '/cache', () => Promise.resolve(undefined)));
    expect(text).toMatch(new RegExp(`CUDA provider +installed for 1\\.9\\.0, not for ${now};`));
    expect(text).toMatch(/CUDA for 1\.9\.0 +3\.0 GiB, in \S+; remove it/);
    expect(whyNot('cuda', '/cache', host)).toBe(
      `the CUDA provider is installed for 1.9.0, not for ${now}; run shoal gpu install cuda`,
    );
  });
});
