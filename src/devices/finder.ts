import type { DeviceName } from '../config/devices.js';
import { testDevices } from '../config/environment.js';
import { deviceIndexes, whyNot } from '../gpu/why-not.js';
import type { DeviceFinder } from './variant.js';

/** @param isStub test doubles have only the devices that a test says */
export function finderFor(cacheFolder: string, isStub: boolean): DeviceFinder {
  const { devices = isStub ? [] : undefined } = testDevices();
  if (devices === undefined) {
    return {
      platform: process.platform,
      whyNot: (device) => whyNot(device, cacheFolder),
      indexes: (device) => deviceIndexes(device),
    };
  }
  const indexes = (device: DeviceName): number[] =>
    devices.filter(({ name }) => name === device).map(({ index }) => index);
  return {
    platform: 'linux',
    whyNot: (device) => (indexes(device).length > 0 ? undefined : 'it is not in this test'),
    indexes,
  };
}

const PROBE_MS = 60_000;
/** It builds its own form of the model first. */
const TENSORRT_PROBE_MS = 900_000;

/** How long a device may take to load the model and look at the pictures. */
export function probeLimitMs(device: DeviceName): number {
  if (device === 'cpu') return PROBE_MS;
  return testDevices().probeMs ?? (device === 'tensorrt' ? TENSORRT_PROBE_MS : PROBE_MS);
}
