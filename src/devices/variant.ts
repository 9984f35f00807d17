import type { Device, DeviceName } from '../config/devices.js';
import type { ModelSettings } from '../config/schema.js';

export type Precision = 'fp32' | 'fp16';

/** One way to run a model: on which devices, each with an engine of its own, and which file. */
export interface Variant {
  /** All of one kind; never empty. */
  readonly devices: readonly Device[];
  readonly precision: Precision;
}

/** What is known about the devices of this machine before anything is tried. */
export interface DeviceFinder {
  readonly platform: NodeJS.Platform;
  /** Why a device need not be tried and what to do about it; `undefined` when it is worth it. */
  whyNot(device: DeviceName): string | undefined;
  indexes(device: DeviceName): readonly number[];
}

/** Why a device that was asked for by name cannot be had. */
export class DeviceError extends Error {
  constructor(device: DeviceName, reason: string) {
    super(`device ${device} cannot be used: ${reason}`);
  }

  /** Where the reason does not say what to do, there is a command that looks closer. */
  withHint(): Error {
    return this.message.includes('; ') ? this : new Error(`${this.message}; see shoal gpu`);
  }
}

/** What `auto` tries, the better first. TensorRT takes minutes to start: only for who wants that. */
const TRIED: Readonly<Partial<Record<NodeJS.Platform, readonly DeviceName[]>>> = {
  linux: ['cuda', 'webgpu'],
  darwin: ['webgpu', 'coreml'],
  win32: ['dml', 'webgpu'],
};

type Wanted = Pick<ModelSettings, 'device' | 'device_index' | 'precision'>;

/**
 * Everything but the CPU that is worth a try, the better first. Empty when the CPU is wanted or
 * there is nothing else.
 * @throws DeviceError when what was asked for by name is not there
 */
export function variantsFor(wanted: Wanted, hasFp16: boolean, finder: DeviceFinder): Variant[] {
  if (wanted.device === 'cpu') return [];
  const names = wanted.device === 'auto' ? (TRIED[finder.platform] ?? []) : [wanted.device];
  return names.flatMap((name) => {
    const devices = devicesOf(name, wanted.device_index, finder);
    if (typeof devices !== 'string') {
      return precisionsFor(name, wanted.precision, hasFp16).map((precision) => ({
        devices,
        precision,
      }));
    }
    if (wanted.device !== 'auto') throw new DeviceError(name, devices);
    return [];
  });
}

/** The CPU runs fp16 slower than fp32, so only who asks for it gets it. */
export function cpuVariant({ precision }: Pick<Wanted, 'precision'>): Variant {
  const devices = [{ name: 'cpu', index: 0 }] as const;
  return { devices, precision: precision === 'fp16' ? 'fp16' : 'fp32' };
}

/** The devices, or why there are none. */
function devicesOf(
  name: DeviceName,
  wanted: string,
  finder: DeviceFinder,
): readonly Device[] | string {
  const reason = finder.whyNot(name);
  if (reason !== undefined) return reason;
  const there = finder.indexes(name);
  const indexes = wanted === 'auto' ? there : [...new Set(wanted.split(',').map(Number))];
  const missing = indexes.find((index) => !there.includes(index));
  if (missing !== undefined) return `there is no ${name}:${String(missing)} here`;
  return indexes.length === 0 ? 'there is none here' : indexes.map((index) => ({ name, index }));
}

/** CUDA takes twice as long to prepare 16 bits and gains a tenth: for those who ask for it. */
function precisionsFor(
  device: DeviceName,
  wanted: Wanted['precision'],
  hasFp16: boolean,
): Precision[] {
  if (wanted !== 'auto') return [wanted];
  return hasFp16 && device !== 'cuda' ? ['fp32', 'fp16'] : ['fp32'];
}

export function nameOf({ name, index }: Device): string {
  return name === 'cpu' ? name : `${name}:${String(index)}`;
}

/** Such as `cuda:0, cuda:1 fp16`. */
export function describeVariant({ devices, precision }: Variant): string {
  const names = devices.map(nameOf).join(', ');
  return precision === 'fp16' ? `${names} fp16` : names;
}

export function isOnCpu({ devices }: Variant): boolean {
  return devices.every(({ name }) => name === 'cpu');
}
