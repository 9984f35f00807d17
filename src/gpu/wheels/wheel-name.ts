import { normalizeName } from './package-name.js';
import { parseVersion, type Version } from './version.js';

export interface WheelName {
  /** Normalized. */
  readonly name: string;
  readonly version: Version;
  readonly platforms: readonly string[];
}

/** What a wheel must run on. */
export interface Platform {
  readonly arch: 'x64' | 'arm64';
  /** Such as 2.36. */
  readonly glibc: string;
}

/** `undefined` for source archives and anything else that is not a wheel. */
export function parseWheelName(filename: string): WheelName | undefined {
  const match =
    /^([A-Za-z0-9_.]+)-([A-Za-z0-9_.!+]+)(?:-\d\w*)?-\w[\w.]*-\w[\w.]*-(\w[\w.]*)\.whl$/.exec(
      filename,
    );
  const [, name = '', versionText = '', platforms = ''] = match ?? [];
  const version = parseVersion(versionText.replaceAll('_', '-'));
  if (match === null || version === undefined) return undefined;
  return { name: normalizeName(name), version, platforms: platforms.split('.') };
}

const OLD_NAMES: Readonly<Record<string, readonly [number, number]>> = {
  manylinux1: [2, 5],
  manylinux2010: [2, 12],
  manylinux2014: [2, 17],
};

/**
 * The glibc that a wheel needs, where it is for this processor. Which Python it is for does not
 * matter: only libraries are taken from it.
 */
export function neededGlibc({ platforms }: WheelName, arch: Platform['arch']): string | undefined {
  const machine = arch === 'arm64' ? 'aarch64' : 'x86_64';
  const needed = platforms.flatMap((tag) => {
    const [, name = '', major, minor, forMachine] =
      /^(manylinux(?:_(\d+)_(\d+)|\d+))_(\w+)$/.exec(tag) ?? [];
    if (forMachine !== machine) return [];
    const old = OLD_NAMES[name];
    return [old ?? ([Number(major), Number(minor)] as const)];
  });
  const [least] = needed.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return least === undefined ? undefined : `${String(least[0])}.${String(least[1])}`;
}

export function fits(wheel: WheelName, { arch, glibc }: Platform): boolean {
  const needed = neededGlibc(wheel, arch);
  if (needed === undefined) return false;
  const [major = 0, minor = 0] = glibc.split('.').map(Number);
  const [needMajor = 0, needMinor = 0] = needed.split('.').map(Number);
  return major > needMajor || (major === needMajor && minor >= needMinor);
}
