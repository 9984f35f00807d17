import type { Device } from '../config/devices.js';
import type { ModelSettings } from '../config/schema.js';
import { planForGpu } from './gpu-plan.js';
import type { Machine } from './machine.js';
import { planFor, type ServingPlan } from './plan.js';
import type { Profile } from './profile.js';

/** The plan of each engine, of which every device has one. */
export function servingPlan(
  settings: ModelSettings,
  machine: Machine,
  devices: readonly Device[],
  profile?: Profile,
): ServingPlan {
  const device = devices[0]?.name ?? 'cpu';
  if (device === 'cpu') return planFor(settings, machine, profile);
  return planForGpu(settings, machine, { device, engines: devices.length }, profile);
}
