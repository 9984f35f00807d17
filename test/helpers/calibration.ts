import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load.js';
import type { ModelSettings } from '../../src/config/schema.js';
import type { EngineConfig } from '../../src/engine/messages.js';
import { Calibration } from '../../src/planning/calibration.js';
import { ProfileCache, type ProfileKey } from '../../src/planning/profile-cache.js';
import type { Probe } from '../../src/planning/profiler.js';

export const machine = { cores: 2, memoryBytes: 16 * 2 ** 30, name: 'a machine' };
export const KEY: ProfileKey = {
  modelSha256: 'abc',
  runtime: 'fake 1',
  device: 'cpu',
  machine: machine.name,
  scope: 'auto',
};
export const folder = (): string => mkdtempSync(join(tmpdir(), 'shoal-cache-'));

/** A machine on which a batch takes as long as `time` says. Time passes only by measuring. */
export function setUp(
  time: (config: EngineConfig, batch: number) => number,
  part: Partial<ModelSettings> = {},
  cacheFolder = folder(),
  key = KEY,
  engine: Partial<EngineConfig> = {},
) {
  const state = { now: 0, spawned: [] as string[], alive: 0, niceness: [] as number[] };
  const problems: string[] = [];
  const spawn = (config: EngineConfig): Probe => {
    const { sessions, threads } = config.plan;
    state.spawned.push(`${String(sessions)}×${String(threads)}`);
    state.alive++;
    let isDead = false;
    return {
      start: () => Promise.resolve('fake'),
      measure: async (batch, runs) => {
        await Promise.resolve();
        if (isDead) throw new Error('it is dead');
        const ms = time(config, batch);
        state.now += ms * runs;
        const times = Array.from({ length: runs * sessions }, () => ms);
        return { batch, ms: times, decodeMs: 3, rssBytes: (100 + 50 * sessions + batch) * 2 ** 20 };
      },
      kill: () => {
        if (!isDead) state.alive--;
        isDead = true;
      },
    };
  };
  const calibration = new Calibration({
    settings: { ...loadConfig({ environment: {}, flags: {} }), ...part },
    machine,
    cache: new ProfileCache(cacheFolder),
    key: () => Promise.resolve(key),
    engine: { input: { width: 8, height: 8 }, ...engine } as EngineConfig,
    hostFor: (niceness) => {
      state.niceness.push(niceness);
      return { spawn, now: () => state.now };
    },
    onMeasure: () => undefined,
    onProblem: (problem) => problems.push(problem),
  });
  return { calibration, state, problems, cacheFolder };
}
