import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { EngineConfig } from '../../src/engine/messages.js';
import { nextBatch, splitsFor } from '../../src/planning/exploration.js';
import { fasterOf, type Profile, sessionBytes, summarise } from '../../src/planning/profile.js';
import { ProfileCache } from '../../src/planning/profile-cache.js';
import { folder, KEY, machine, setUp } from '../helpers/calibration.js';

const laptop = ({ plan }: EngineConfig, batch: number): number =>
  plan.threads === 2 ? 9 * batch : 17 * batch;

describe('Calibration', () => {
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  it('measures every split, in engines that are gone afterwards', async () => {
    const { calibration, state } = setUp(laptop);
    const found = await calibration.obtain();
    expect(found).toMatchObject({ isCached: false, profile: { depth: 'quick', provider: 'fake' } });
    expect(found?.profile.splits.map(({ sessions }) => sessions)).toEqual([2, 1]);
    expect(found?.profile.splits[1]?.points[0]).toMatchObject({ batch: 1, ms: 9 });
    expect([state.spawned, state.alive]).toEqual([['2×1', '1×2'], 0]);
  });

  it('takes bounded time with a slow model', async () => {
    const { calibration, state } = setUp(() => 800);
    const found = await calibration.obtain();
    expect(found?.profile.splits).toHaveLength(1);
    // A warm-up and two runs of one batch size, which is the least that says anything.
    expect(state.now).toBe(2400);
  });

  it('reads the cache the next time, and measures nothing', async () => {
    const first = setUp(laptop);
    await first.calibration.obtain();
    const second = setUp(laptop, {}, first.cacheFolder);
    expect(await second.calibration.obtain()).toMatchObject({ isCached: true });
    expect(second.state.spawned).toEqual([]);
  });

  it.each([
    ['another model', { ...KEY, modelSha256: 'def' }],
    ['another runtime', { ...KEY, runtime: 'fake 2' }],
    ['another machine', { ...KEY, machine: 'another' }],
  ])('measures again for %s', async (_what, key) => {
    const first = setUp(laptop);
    await first.calibration.obtain();
    const second = setUp(laptop, {}, first.cacheFolder, key);
    expect(await second.calibration.obtain()).toMatchObject({ isCached: false });
  });

  it.each(['', '{', '{"format": 1}', '[]'])('measures again when the cache is %j', async (text) => {
    const first = setUp(laptop);
    await first.calibration.obtain();
    const [file = ''] = readdirSync(first.cacheFolder);
    writeFileSync(join(first.cacheFolder, file), text);
    const second = setUp(laptop, {}, first.cacheFolder);
    expect(await second.calibration.obtain()).toMatchObject({ isCached: false });
  });

  it('does not wait for a cache that does not answer', async () => {
    vi.useFakeTimers();
    const silence = new Promise<undefined>(() => undefined);
    vi.spyOn(ProfileCache.prototype, 'read').mockReturnValue(silence);
    const { calibration, problems, cacheFolder } = setUp(laptop);
    const found = calibration.obtain();
    await vi.advanceTimersByTimeAsync(2000);
    expect(await found).toMatchObject({ isCached: false });
    const reason = `the cache folder ${cacheFolder} does not answer`;
    expect(problems).toEqual([`the profile could not be read: ${reason}`]);
  });

  it.runIf(process.platform === 'linux')('does not read what is not a file', async () => {
    const first = setUp(laptop);
    await first.calibration.obtain();
    const path = join(first.cacheFolder, readdirSync(first.cacheFolder)[0] ?? '');
    rmSync(path);
    execFileSync('mkfifo', [path]);
    const second = setUp(laptop, {}, first.cacheFolder);
    expect(await second.calibration.obtain()).toMatchObject({ isCached: false });
    expect(second.problems).toEqual([]);
  });

  it('goes on without a cache that cannot be written', async () => {
    const file = join(folder(), 'file');
    writeFileSync(file, '');
    const { calibration, problems } = setUp(laptop, {}, file);
    expect(await calibration.obtain()).toBeDefined();
    expect(problems).toHaveLength(1);
  });

  it('does nothing when it is off, and everything when it is to be full', async () => {
    const off = setUp(laptop, { profile: 'off' });
    expect(await off.calibration.obtain()).toBeUndefined();
    const quick = setUp(laptop);
    await quick.calibration.obtain();
    // What was measured in a hurry does not do.
    const full = setUp(laptop, { profile: 'full' }, quick.cacheFolder);
    expect(await full.calibration.obtain()).toMatchObject({ profile: { depth: 'full' } });
    expect(full.state.spawned).toHaveLength(6);
  });

  it('refines gently, takes up what was interrupted, and keeps the result', async () => {
    const { calibration, state, cacheFolder } = setUp(laptop);
    await calibration.obtain();
    state.spawned = [];
    const interrupted = new AbortController();
    const refining = calibration.refine(undefined, interrupted.signal);
    while (state.spawned.length < 3) await Promise.resolve();
    interrupted.abort();
    expect(await refining).toBeUndefined();
    expect(state.alive).toBe(0);
    const profile = await calibration.refine(undefined, new AbortController().signal);
    expect(profile).toMatchObject({ depth: 'full' });
    expect(state.spawned).toHaveLength(7);
    expect(new Set(state.niceness.slice(3))).toEqual(new Set([19]));
    const next = setUp(laptop, {}, cacheFolder);
    expect(await next.calibration.obtain()).toMatchObject({ profile: { depth: 'full' } });
  });

  it('notices when the machine is no longer the one that was measured', async () => {
    let slowness = 1;
    const { calibration } = setUp((config, batch) => laptop(config, batch) * slowness);
    const found = await calibration.obtain();
    if (found === undefined) throw new Error('nothing was measured');
    const isStale = (): Promise<boolean | undefined> =>
      calibration.isStale(found.profile, { sessions: 2, threads: 1 }, new AbortController().signal);
    expect(await isStale()).toBe(false);
    slowness = 1.5;
    expect(await isStale()).toBe(true);
    slowness = 0.5;
    expect(await isStale()).toBe(true);
  });

  it('keeps what it knows when measuring fails', async () => {
    let isBroken = false;
    const { calibration, cacheFolder } = setUp((config, batch) => {
      if (isBroken) throw new Error('killed');
      return laptop(config, batch);
    });
    const found = await calibration.obtain();
    if (found === undefined) throw new Error('nothing was measured');
    isBroken = true;
    const { signal } = new AbortController();
    expect(await calibration.isStale(found.profile, { sessions: 2, threads: 1 }, signal)).toBe(
      undefined,
    );
    await expect(calibration.refine(found.profile, signal)).rejects.toThrow('not everything');
    const next = setUp(laptop, {}, cacheFolder);
    expect(await next.calibration.obtain()).toMatchObject({ isCached: true });
  });

  it('says so when the model cannot be loaded', async () => {
    const { calibration } = setUp(() => {
      throw new Error('no such operator');
    });
    await expect(calibration.obtain()).rejects.toThrow('no such operator');
  });
});

describe('fasterOf', () => {
  it('takes the faster measurement of each point', () => {
    const profile = (...ms: number[]): Profile => ({
      provider: 'cpu',
      measuredAt: '',
      depth: 'full',
      decodeMs: 3,
      splits: [
        {
          sessions: 1,
          threads: 2,
          points: ms.map((each, at) => ({ batch: 2 ** at, ms: each, runs: 1, rssBytes: 1 })),
        },
      ],
    });
    const faster = fasterOf(profile(10, 25), profile(18, 20, 40));
    expect(faster.splits[0]?.points.map(({ ms }) => ms)).toEqual([10, 20, 40]);
  });
});

describe('splitsFor', () => {
  it.each([
    [1, ['1×1']],
    [2, ['2×1', '1×2']],
    [4, ['4×1', '1×4', '2×2']],
    [6, ['6×1', '1×6', '3×2', '1×4']],
    [64, ['16×4', '1×64', '8×8', '4×16', '2×32']],
  ])('divides %i cores', (cores, expected) => {
    const shapes = splitsFor(cores).map((s) => `${String(s.sessions)}×${String(s.threads)}`);
    expect(shapes).toEqual(expected);
  });

  it('begins with what was set by hand', () => {
    expect(splitsFor(4, { sessions: 3 })[0]).toEqual({ sessions: 3, threads: 1 });
    expect(splitsFor(4, { threads: 2 })).toHaveLength(3);
  });
});

describe('nextBatch', () => {
  const points = (...ms: number[]) =>
    ms.map((each, at) => ({ batch: 2 ** at, ms: each, runs: 1, rssBytes: 0 }));
  const next = (...ms: number[]) => nextBatch(points(...ms), machine);

  it('goes on while throughput grows, and a little beyond', () => {
    expect([next(), next(10), next(10, 11), next(10, 20)]).toEqual([1, 2, 4, 4]);
    expect(next(10, 11, 12, 13, 14, 15, 16, 17)).toBeUndefined();
  });

  it('stops when throughput falls, stays as it is, or memory ends', () => {
    expect(next(10, 25)).toBeUndefined();
    expect(next(10, 20, 40)).toBeUndefined();
    const [first] = points(10);
    const full = { ...first, rssBytes: machine.memoryBytes * 0.6 } as ReturnType<typeof points>[0];
    expect(nextBatch([full], machine)).toBeUndefined();
  });

  it('goes as far as was set by hand', () => {
    expect(nextBatch(points(10, 25), machine, 6)).toBe(4);
    expect(nextBatch(points(10, 25, 50), machine, 6)).toBe(6);
    expect(nextBatch(points(10), machine, 1)).toBeUndefined();
  });
});

describe('summarise', () => {
  it('takes medians, so that a hiccup does not count', () => {
    const sample = { sessions: 2, threads: 1, batch: 1, decodeMs: 3, rssBytes: 5 };
    const profile = summarise(
      [
        { ...sample, ms: [10, 11, 500] },
        { ...sample, ms: [9, 12] },
        { ...sample, batch: 2, ms: [20] },
      ],
      { provider: 'cpu', measuredAt: '', depth: 'quick' },
    );
    expect(profile.splits).toMatchObject([
      {
        points: [
          { batch: 1, ms: 11, runs: 5 },
          { batch: 2, ms: 20 },
        ],
      },
    ]);
  });

  it('tells what a session costs', () => {
    const split = (sessions: number, rssBytes: number) => ({
      sessions,
      threads: 1,
      batch: 1,
      ms: [1],
      decodeMs: 3,
      rssBytes,
    });
    const about = { provider: 'cpu', measuredAt: '', depth: 'quick' } as const;
    expect(sessionBytes(summarise([split(4, 400), split(1, 100)], about))).toBe(100);
    expect(sessionBytes(summarise([split(4, 400)], about))).toBeUndefined();
  });
});
