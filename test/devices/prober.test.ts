import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Device } from '../../src/config/devices.js';
import { checkPictures } from '../../src/devices/check-pictures.js';
import { type CheckProbe, Prober } from '../../src/devices/prober.js';
import { nameOf, type Variant } from '../../src/devices/variant.js';
import type { EngineConfig } from '../../src/engine/messages.js';
import type { Detection } from '../../src/heads/detection.js';

type Behaviour = 'works' | 'blind' | 'crashes' | 'fails' | 'hangs' | 'hangs later';
const CUP: Detection = { label: 'cup', confidence: 0.9, bbox: [10, 10, 100, 100] };
const never = new Promise<never>(() => undefined);

/** Devices that behave like this; the CPU works. */
function setUp(behaviours: Readonly<Record<string, Behaviour>>, isStrict = false) {
  const state = {
    alive: 0,
    spawned: [] as string[],
    broken: [] as string[],
    works: [] as string[],
  };
  const spawn = (config: EngineConfig): CheckProbe => {
    const name = nameOf(config.device);
    const behaviour = behaviours[name] ?? 'works';
    state.alive++;
    state.spawned.push(name);
    return {
      ready: () => {
        if (behaviour === 'crashes') return Promise.reject(new Error('it ended with SIGSEGV'));
        return behaviour === 'hangs' ? never : Promise.resolve({ provider: name, loadMs: 1 });
      },
      check: () => {
        if (behaviour === 'fails') return Promise.reject(new Error('The model failed.'));
        if (behaviour === 'hangs later') return never;
        return Promise.resolve(behaviour === 'blind' ? [] : [CUP]);
      },
      kill: () => state.alive--,
    };
  };
  const prober = new Prober({
    isStrict,
    spawn,
    configFor: ({ devices }) => ({ device: devices[0] as Device }) as EngineConfig,
    pictures: () => checkPictures(),
    limitMs: () => 60_000,
    onWorks: ({ devices }) => state.works.push(...devices.map(nameOf)),
    onBroken: (device, reason) => state.broken.push(`${nameOf(device)}: ${reason}`),
  });
  return { prober, state };
}
const gpus = (...indexes: number[]): Variant => ({
  devices: indexes.map((index) => ({ name: 'cuda', index })),
  precision: 'fp32',
});

describe('Prober', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('finds that a device works, and leaves no engine behind', async () => {
    const { prober, state } = setUp({});
    expect(await prober.prove(gpus(0))).toEqual(gpus(0));
    expect(await prober.prove(gpus(1))).toEqual(gpus(1));
    // What the CPU finds is found out once.
    expect(state).toEqual({
      alive: 0,
      spawned: ['cpu', 'cuda:0', 'cuda:1'],
      broken: [],
      works: ['cuda:0', 'cuda:1'],
    });
  });

  it.each([
    ['crashes', 'it ended with SIGSEGV'],
    ['fails', 'The model failed.'],
    ['blind', 'it disagrees with the CPU: picture 1: it does not find "cup" (0.90)'],
    ['hangs', 'it gave no answer within 60 s'],
    ['hangs later', 'it gave no answer within 60 s'],
  ] as const)('refuses a device that %s', async (behaviour, reason) => {
    const { prober, state } = setUp({ 'cuda:0': behaviour });
    const proof = prober.prove(gpus(0)).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await proof).toEqual(new Error(reason));
    expect(state).toMatchObject({ alive: 0, works: [], broken: [] });
  });

  it('leaves out the broken ones of several', async () => {
    const { prober, state } = setUp({ 'cuda:1': 'crashes' });
    expect(await prober.prove(gpus(0, 1, 2))).toEqual(gpus(0, 2));
    expect(state.broken).toEqual(['cuda:1: it ended with SIGSEGV']);
  });

  it('wants all of them when they were asked for', async () => {
    const { prober } = setUp({ 'cuda:1': 'crashes' }, true);
    await expect(prober.prove(gpus(0, 1))).rejects.toThrow('cuda:1: it ended with SIGSEGV');
  });

  it('says so when not even the CPU works', async () => {
    const { prober } = setUp({ cpu: 'crashes' });
    await expect(prober.prove(gpus(0))).rejects.toThrow('it ended with SIGSEGV');
  });
});
