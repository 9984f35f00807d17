import type { Host } from '../host.js';
import type { Platform } from '../wheels/wheel-name.js';

/** @throws an Error that says where CUDA can be installed */
export function installPlatform({ platform, arch }: Host, glibc = glibcVersion()): Platform {
  if (platform !== 'linux' || (arch !== 'x64' && arch !== 'arm64')) {
    const other = platform === 'darwin' ? 'coreml or webgpu' : 'dml or webgpu';
    throw new Error(
      `CUDA can be installed on Linux (x64, arm64), not on ${platform} (${arch}); use the device ${other} here`,
    );
  }
  if (glibc === undefined) {
    throw new Error('NVIDIA’s libraries need glibc, which this system (Alpine?) does not have');
  }
  return { arch, glibc };
}

function glibcVersion(): string | undefined {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime;
}
