import { describe, expect, it } from 'vitest';
import type { EngineConfig } from '../../src/engine/messages.js';
import { folder, KEY, setUp } from '../helpers/calibration.js';

describe('Calibration on a GPU', () => {
  const ON_CUDA = { isPipelined: true, device: { name: 'cuda', index: 0 } } as const;

  it('measures one and two sessions of CUDA by the buckets', async () => {
    const gpu = ({ plan }: EngineConfig, batch: number): number => plan.sessions * (2 + batch / 8);
    const { calibration, state } = setUp(gpu, {}, folder(), KEY, ON_CUDA);
    const found = await calibration.obtain();
    expect(state).toMatchObject({ spawned: ['1×1', '2×1'], alive: 0 });
    const sizes = found?.profile.splits[0]?.points.map(({ batch }) => batch) ?? [];
    expect(sizes).toEqual([1, 8, 32, 64]);
  });

  it('starts every engine once for a full profile, since that takes long there', async () => {
    const { calibration, state } = setUp(() => 5, { profile: 'full' }, folder(), KEY, ON_CUDA);
    expect(await calibration.obtain()).toMatchObject({ profile: { depth: 'full' } });
    expect(state).toMatchObject({ spawned: ['1×1', '2×1'], alive: 0 });
    const before = state.spawned.length;
    const { signal } = new AbortController();
    expect(await calibration.refine(undefined, signal)).toMatchObject({ depth: 'full' });
    expect(state.spawned.slice(before)).toEqual(['1×1', '2×1']);
  });

  it('does not count the time that the first run of a batch size takes', async () => {
    const seen = new Set<string>();
    const gpu = ({ plan }: EngineConfig, batch: number): number => {
      const key = `${String(plan.sessions)} ${String(batch)}`;
      const isCold = !seen.has(key);
      seen.add(key);
      return isCold ? 900 : 5;
    };
    const hand = { sessions: 1 } as const;
    const { calibration } = setUp(gpu, hand, folder(), KEY, ON_CUDA);
    const [split] = (await calibration.obtain())?.profile.splits ?? [];
    expect(split?.points.map(({ batch }) => batch).at(-1)).toBe(64);
    expect(split?.points.every(({ ms }) => ms === 5)).toBe(true);
  });
});
