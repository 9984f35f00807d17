import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EngineSupervisor } from '../../src/engine/supervisor.js';
import { above, markFor, type MemoryUse } from '../../src/models/memory-mark.js';
import { MemoryWatch } from '../../src/models/memory-watch.js';
import type { FakeEngine } from '../helpers/fake-engine.js';
import { engineHost } from '../helpers/fake-engine.js';

const GiB = 2 ** 30;
const MiB = 2 ** 20;

describe('the most an engine may hold', () => {
  const bytes = fc.integer({ min: 1, max: 100 * GiB });

  it('is never below what it held after its start, unless somebody says so', () => {
    fc.assert(
      fc.property(bytes, fc.option(bytes, { nil: undefined }), (rssBytes, gpuBytes) => {
        const start = { rssBytes, gpuBytes };
        expect(above(start, markFor('auto', start))).toBeUndefined();
      }),
    );
  });

  it('holds for either kind of memory', () => {
    const mark = markFor(GiB, { rssBytes: 1 });
    expect(above({ rssBytes: GiB }, mark)).toBeUndefined();
    expect(above({ rssBytes: GiB + 1 }, mark)).toBe('memory');
    expect(above({ rssBytes: 1, gpuBytes: GiB + 1 }, mark)).toBe('gpu_memory');
  });

  it('does not concern what is not known', () => {
    const unknown = markFor('auto', { rssBytes: MiB });
    expect(above({ rssBytes: MiB, gpuBytes: 1000 * GiB }, unknown)).toBeUndefined();
    expect(above({ rssBytes: MiB }, { rssBytes: GiB, gpuBytes: 0 })).toBeUndefined();
  });
});

describe('MemoryWatch', () => {
  let engines: FakeEngine[];
  let supervisor: EngineSupervisor;
  let gpuBytes: number | undefined;
  let now: number;
  let reports: { use: MemoryUse; kind: string }[];
  let watch: MemoryWatch;
  const last = (): FakeEngine => engines.at(-1) as FakeEngine;
  const holds = (rssBytes: number): void => {
    last().events.onPong({ rssBytes, drift: 1 });
    watch.check();
  };
  const ready = (): void => {
    last().ready();
  };

  beforeEach(async () => {
    vi.useFakeTimers();
    engines = [];
    reports = [];
    now = 0;
    gpuBytes = undefined;
    supervisor = new EngineSupervisor(engineHost(engines), 1e9);
    const started = supervisor.start();
    ready();
    await started;
    watch = new MemoryWatch({
      setting: 'auto',
      seats: () => supervisor.seats,
      gpuBytesOf: () => gpuBytes,
      now: () => now,
      onAbove: (use, _mark, kind) => reports.push({ use, kind }),
    });
  });
  afterEach(() => {
    supervisor.stop();
    vi.useRealTimers();
  });

  it('lets an engine grow while it settles, and replaces it when it never stops', () => {
    holds(200 * MiB);
    now = 30_000;
    holds(GiB);
    now = 90_000;
    holds(3 * GiB);
    expect(engines).toHaveLength(1);
    holds(5 * GiB);
    expect(engines).toHaveLength(2);
    expect(reports).toEqual([{ use: { rssBytes: 5 * GiB, gpuBytes: undefined }, kind: 'memory' }]);
    ready();
    expect(engines[0]?.endedFor).toBeDefined();
    expect(supervisor.restarts).toBe(0);
  });

  it('watches the memory of the GPU as well', () => {
    gpuBytes = GiB;
    holds(200 * MiB);
    now = 90_000;
    gpuBytes = 10 * GiB;
    holds(200 * MiB);
    expect(reports.map(({ kind }) => kind)).toEqual(['gpu_memory']);
    expect(engines).toHaveLength(2);
  });

  it('replaces none again and again', () => {
    holds(200 * MiB);
    now = 90_000;
    for (let second = 0; second < 30; second++, now += 1000) {
      holds(5 * GiB);
      if (last().endedFor === undefined && engines.length > 1) ready();
    }
    expect(engines).toHaveLength(2);
  });
});
