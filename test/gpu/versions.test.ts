import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isWanted, parseRequirement, requirementsIn } from '../../src/gpu/wheels/requirement.js';
import { Specifier } from '../../src/gpu/wheels/specifier.js';
import {
  compareVersions,
  isStable,
  parseVersion,
  type Version,
} from '../../src/gpu/wheels/version.js';
import {
  fits,
  neededGlibc,
  parseWheelName,
  type WheelName,
} from '../../src/gpu/wheels/wheel-name.js';

const version = (text: string): Version => parseVersion(text) as Version;
const allows = (specifier: string, text: string) =>
  Specifier.parse(specifier).allows(version(text));

describe('a version', () => {
  it('comes in the order of PEP 440', () => {
    const order = [
      '0.9',
      '1.0.dev1',
      '1.0a1.dev2',
      '1.0a1',
      '1.0b2',
      '1.0rc1',
      '1.0',
      '1.0.post1.dev3',
      '1.0.post1',
      '1.0.1',
      '1.2',
      '1.10',
      '2.0',
      '1!0.1',
    ];
    const shuffled = [...order].reverse();
    expect(
      shuffled
        .map(version)
        .sort(compareVersions)
        .map(({ text }) => text),
    ).toEqual(order);
  });

  it('can be written in several ways', () => {
    for (const [a, b] of [
      ['1.0', '1'],
      ['v1.0RC1', '1.0-rc.1'],
      ['1.0-1', '1.0.post1'],
      ['1.0alpha', '1.0a0'],
    ] as const) {
      expect(compareVersions(version(a), version(b))).toBe(0);
    }
    expect(parseVersion('latest')).toBeUndefined();
    expect(parseVersion('1.0.')).toBeUndefined();
  });

  it('is stable unless it is a pre-release or a snapshot', () => {
    expect(['9.27.0.42', '1.0.post1'].every((text) => isStable(version(text)))).toBe(true);
    expect(['9.28.0.42.dev7', '1.0rc1'].some((text) => isStable(version(text)))).toBe(false);
  });
});

describe('a version specifier', () => {
  it.each([
    ['~=13.0', ['13.0', '13.8.2.12'], ['12.9', '14.0']],
    ['~=1.4.2', ['1.4.2', '1.4.9'], ['1.5', '1.4.1']],
    ['==1.30.0', ['1.30.0', '1.30'], ['1.30.1', '1.30.0.post1']],
    ['==13.*', ['13.0', '13.9.1'], ['14.0', '1.3']],
    ['!=1.3.*,>=1', ['1.0', '1.4'], ['1.3.7', '0.9']],
    ['>=1,<2', ['1.0', '1.99'], ['2.0', '2.0rc1', '0.9']],
    ['>1.0', ['1.1'], ['1.0', '1.0.post1']],
    ['<=2', ['2.0'], ['2.0.1']],
    ['!=1.5', ['1.4'], ['1.5.0']],
    ['===1.0', ['1.0'], ['1.0.0']],
    ['', ['0.1', '99'], []],
  ])('%s', (specifier, good, bad) => {
    for (const text of good) expect(allows(specifier, text), text).toBe(true);
    for (const text of bad) expect(allows(specifier, text), text).toBe(false);
  });

  it('that is not understood is refused, not guessed', () => {
    for (const text of ['1.0', '=>1', '~=1', '>=1.*', '==x']) {
      expect(() => Specifier.parse(text), text).toThrow();
    }
  });

  it('~= means at least this and nothing with another beginning', () => {
    const parts = fc.array(fc.nat(20), { minLength: 2, maxLength: 4 });
    fc.assert(
      fc.property(parts, parts, (wanted, offered) => {
        const [a, b] = [wanted.join('.'), offered.join('.')];
        const start = wanted.slice(0, -1).join('.');
        expect(allows(`~=${a}`, b)).toBe(allows(`>=${a},==${start}.*`, b));
      }),
    );
  });
});

describe('a requirement', () => {
  const metadata =
    'Metadata-Version: 2.1\r\nRequires-Dist: numpy>=1.21.6\r\nProvides-Extra: cuda\r\n' +
    'Requires-Dist: nvidia-cuda-nvrtc~=13.0; extra == "cuda"\r\n' +
    "Requires-Dist: nvidia_cuDNN.cu13 (~=9.0) ; extra == 'cudnn' and platform_system == 'Linux'\r\n" +
    '\r\nRequires-Dist: not-a-header\r\n';

  it('is read from the headers of the metadata only', () => {
    expect(
      requirementsIn(metadata, () => true).map(({ name, specifier }) => [name, specifier.text]),
    ).toEqual([
      ['numpy', '>=1.21.6'],
      ['nvidia-cuda-nvrtc', '~=13.0'],
      ['nvidia-cudnn-cu13', '~=9.0'],
    ]);
  });

  it('that nobody needs may have any form', () => {
    const text =
      'Requires-Dist: foo @ https://files.example/foo.whl\nRequires-Dist: bar (>=2004d)\n' +
      'Requires-Dist: ???\nRequires-Dist: NVIDIA_x[all] (>=1)\n\n';
    const isNvidia = (name: string): boolean => name.startsWith('nvidia-');
    expect(requirementsIn(text, isNvidia)).toMatchObject([{ name: 'nvidia-x' }]);
    for (const name of ['foo', 'bar', '']) {
      expect(() => requirementsIn(text, (one) => one === name)).toThrow(/is not understood/);
    }
  });

  it('counts when its marker holds', () => {
    const wanted = (extra: string) =>
      requirementsIn(metadata, () => true).filter((one) => isWanted(one, { extra, arch: 'x64' }))
        .length;
    expect([wanted(''), wanted('cuda'), wanted('cudnn')]).toEqual([1, 2, 2]);
    const holds = (marker: string, arch: string) =>
      isWanted(parseRequirement(`x; ${marker}`), { extra: '', arch });
    expect(holds("platform_machine == 'aarch64'", 'arm64')).toBe(true);
    expect(holds("platform_machine != 'x86_64' or sys_platform == 'win32'", 'x64')).toBe(false);
    expect(holds("python_version >= '3.8'", 'x64')).toBe(true);
  });

  it.each([
    ['(sys_platform == "linux" or sys_platform == "win32") and extra == "training"', false],
    ['(sys_platform == "linux" or sys_platform == "win32") and extra == "cuda"', true],
    ['sys_platform == "linux" or sys_platform == "win32" and extra == "training"', true],
    ['((extra == "x") or ("CUDA" == extra))', true],
    ['"win32" == sys_platform', false],
    ['"linux" != sys_platform', false],
    ['platform_machine in "aarch64 arm64"', false],
    ['platform_machine not in "aarch64 arm64"', true],
    ['"x86" in platform_machine', true],
    ["os.name=='posix'and python_version<'4'", true],
    ['python_version ~= "3.8" and extra != "cuda"', false],
    ['"10" > "9" and "10" >= "10.0" and "a" < "b" and "9" <= "10"', true],
    ['"(" == "and" or extra == "other"', false],
  ])('with the condition %s', (marker, holds) => {
    const requirement = parseRequirement(`x; ${marker}`);
    expect(isWanted(requirement, { extra: 'cuda', arch: 'x64' })).toBe(holds);
  });

  it.each([
    'extra == cuda',
    'extra = "cuda"',
    'extra == "cuda',
    '(extra == "cuda"',
    'extra == "cuda")',
    'extra == "cuda" extra == "x"',
    'extra == "cuda" or',
    'extra not "cuda"',
    'extra ~= "cuda"',
    'not extra == "cuda"',
    'moon_phase == "full"',
    'constructor == "x"',
    `${'('.repeat(100_000)}extra == "cuda"`,
  ])('with a condition that is not understood is refused, not guessed: %.40s', (marker) => {
    const requirement = parseRequirement(`nvidia-x; ${marker}`);
    expect(() => isWanted(requirement, { extra: 'cuda', arch: 'x64' })).toThrow(
      /^cannot tell whether nvidia-x is needed: the condition ".*" is not understood$/,
    );
  });
});

describe('the name of a wheel', () => {
  const parse = (name: string): WheelName => parseWheelName(name) as WheelName;

  it('says what it is for', () => {
    const wheel = parse(
      'nvidia_cufft-12.4.0.43-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl',
    );
    expect(wheel.name).toBe('nvidia-cufft');
    expect(wheel.version.text).toBe('12.4.0.43');
    expect(neededGlibc(wheel, 'x64')).toBe('2.17');
    expect(neededGlibc(wheel, 'arm64')).toBeUndefined();
    expect(parseWheelName('nvidia_cudnn_cu13-9.28.0.42.dev7.tar.gz')).toBeUndefined();
  });

  it('fits any Python, but only its own processor and a glibc that is new enough', () => {
    const on = (arch: 'x64' | 'arm64', glibc: string) => ({ arch, glibc });
    const arm = parse('onnxruntime_gpu-1.30.0-cp314-cp314t-manylinux_2_34_aarch64.whl');
    expect(fits(arm, on('arm64', '2.36'))).toBe(true);
    expect(fits(arm, on('arm64', '2.31'))).toBe(false);
    expect(fits(arm, on('x64', '2.36'))).toBe(false);
    for (const tag of ['win_amd64', 'macosx_11_0_arm64', 'musllinux_1_2_x86_64', 'any']) {
      expect(fits(parse(`x-1.0-py3-none-${tag}.whl`), on('x64', '2.36')), tag).toBe(false);
    }
  });
});
