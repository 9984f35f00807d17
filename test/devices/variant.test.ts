import { describe, expect, it } from 'vitest';
import type { DeviceName } from '../../src/config/devices.js';
import {
  cpuVariant,
  DeviceError,
  describeVariant,
  type DeviceFinder,
  isOnCpu,
  variantsFor,
} from '../../src/devices/variant.js';

const AUTO = { device: 'auto', device_index: 'auto', precision: 'auto' } as const;

function machineWith(
  there: Partial<Record<DeviceName, readonly number[]>>,
  platform: NodeJS.Platform = 'linux',
): DeviceFinder {
  return {
    platform,
    whyNot: (device) => (there[device] === undefined ? 'it is missing; install it' : undefined),
    indexes: (device) => there[device] ?? [],
  };
}
const describeAll = (...parameters: Parameters<typeof variantsFor>): string[] =>
  variantsFor(...parameters).map(describeVariant);

describe('variantsFor', () => {
  it('tries what is there, the better first', () => {
    expect(describeAll(AUTO, false, machineWith({ webgpu: [0], cuda: [0, 1] }))).toEqual([
      'cuda:0, cuda:1',
      'webgpu:0',
    ]);
    expect(describeAll(AUTO, false, machineWith({ webgpu: [0], coreml: [0] }, 'darwin'))).toEqual([
      'webgpu:0',
      'coreml:0',
    ]);
    expect(describeAll(AUTO, false, machineWith({ dml: [0] }, 'win32'))).toEqual(['dml:0']);
    expect(describeAll(AUTO, false, machineWith({ cuda: [0] }, 'aix'))).toEqual([]);
  });

  it('tries TensorRT only by name', () => {
    const both = machineWith({ cuda: [0], tensorrt: [0] });
    expect(describeAll(AUTO, false, both)).toEqual(['cuda:0']);
    expect(describeAll({ ...AUTO, device: 'tensorrt' }, false, both)).toEqual(['tensorrt:0']);
  });

  it('looks for nothing when the CPU is wanted', () => {
    const finder: DeviceFinder = {
      platform: 'linux',
      whyNot: () => expect.unreachable(),
      indexes: () => expect.unreachable(),
    };
    expect(variantsFor({ ...AUTO, device: 'cpu' }, true, finder)).toEqual([]);
  });

  it('tries half the precision where there is such a model, but not unasked with CUDA', () => {
    const one = machineWith({ cuda: [0] });
    expect(describeAll(AUTO, true, one)).toEqual(['cuda:0']);
    const other = machineWith({ webgpu: [0] });
    expect(describeAll(AUTO, true, other)).toEqual(['webgpu:0', 'webgpu:0 fp16']);
    expect(describeAll({ ...AUTO, precision: 'fp16' }, true, one)).toEqual(['cuda:0 fp16']);
    expect(describeAll({ ...AUTO, precision: 'fp32' }, true, one)).toEqual(['cuda:0']);
  });

  it('takes the GPUs that are named, each once', () => {
    const three = machineWith({ cuda: [0, 1, 2], webgpu: [0] });
    expect(describeAll({ ...AUTO, device_index: '2,0,2' }, false, three)).toEqual([
      'cuda:2, cuda:0',
    ]);
  });

  it('refuses what is named and not there, with the reason', () => {
    const find = (device: DeviceName, device_index: string) => () =>
      variantsFor({ ...AUTO, device, device_index }, false, machineWith({ cuda: [0], dml: [] }));
    expect(find('webgpu', 'auto')).toThrow(new DeviceError('webgpu', 'it is missing; install it'));
    expect(find('cuda', '0,3')).toThrow('device cuda cannot be used: there is no cuda:3 here');
    expect(find('dml', 'auto')).toThrow('there is none here');
  });
});

describe('DeviceError', () => {
  it('says what to do where the reason does not', () => {
    const text = (reason: string): string => new DeviceError('cuda', reason).withHint().message;
    expect(text('it crashed')).toBe('device cuda cannot be used: it crashed; see shoal gpu');
    expect(text('it is missing; run x')).toBe('device cuda cannot be used: it is missing; run x');
  });
});

describe('cpuVariant', () => {
  it('has full precision unless half is asked for', () => {
    expect(describeVariant(cpuVariant({ precision: 'auto' }))).toBe('cpu');
    expect(describeVariant(cpuVariant({ precision: 'fp16' }))).toBe('cpu fp16');
    expect(isOnCpu(cpuVariant({ precision: 'fp32' }))).toBe(true);
  });
});
