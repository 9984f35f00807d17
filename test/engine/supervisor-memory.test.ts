import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EngineSupervisor } from '../../src/engine/supervisor.js';
import { engineHost, FakeEngine, request } from '../helpers/fake-engine.js';

const READY = { provider: 'fake', loadMs: 1 };

describe('engines with less memory than was planned for', () => {
  let engines: FakeEngine[];
  let told: number[];
  let supervisor: EngineSupervisor;
  const last = (): FakeEngine => engines.at(-1) as FakeEngine;
  const ran = (size: number, ceiling?: number): void => {
    const batch = { size, session: 'narrow', laneMs: 1 } as const;
    last().events.onResults({
      batch: ceiling === undefined ? batch : { ...batch, ceiling },
      items: [],
    });
  };

  beforeEach(() => {
    vi.useFakeTimers();
    engines = [];
    told = [];
    supervisor = new EngineSupervisor(
      {
        ...engineHost([]),
        spawn: (events, _seat, isUrgent) => {
          engines.push(new FakeEngine(events, isUrgent));
          return last();
        },
        onCeiling: (batch) => told.push(batch),
      },
      1e9,
    );
  });
  afterEach(() => {
    supervisor.stop();
    vi.useRealTimers();
  });

  it('say how large batches may be, until larger ones run', async () => {
    const started = supervisor.start();
    last().events.onReady({ ...READY, ceiling: 32 });
    await started;
    expect(supervisor.ceiling).toBe(32);
    ran(32, 8);
    ran(8, 16);
    ran(8);
    expect([supervisor.ceiling, told]).toEqual([8, [32, 8]]);
    ran(64);
    expect([supervisor.ceiling, told]).toEqual([Infinity, [32, 8]]);
  });

  it('are forgotten with the engine that said so, but not for one that was started in a hurry', async () => {
    const started = supervisor.start();
    last().ready();
    await started;
    ran(64, 16);
    last().crash();
    await vi.advanceTimersByTimeAsync(0);
    expect(last().isMakeshift).toBe(true);
    last().ready();
    expect(supervisor.ceiling).toBe(16);
    expect(last().isMakeshift).toBe(false);
    last().ready();
    expect(supervisor.ceiling).toBe(Infinity);
  });

  it('try again to take the place of the hurried one, when they could not', async () => {
    const started = supervisor.start();
    last().ready();
    await started;
    last().crash();
    await vi.advanceTimersByTimeAsync(0);
    last().ready();
    const makeshift = engines[1] as FakeEngine;
    last().crash('out of memory');
    expect(engines).toHaveLength(3);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(engines).toHaveLength(4);
    last().ready();
    expect(makeshift.endedFor).toBeDefined();
    expect([supervisor.isReady, supervisor.restarts]).toEqual([true, 1]);
  });

  it('are started with all that is planned when the hurried one cannot load', async () => {
    const started = supervisor.start();
    last().ready();
    await started;
    const answer = supervisor.submit(request());
    last().crash();
    await vi.advanceTimersByTimeAsync(0);
    for (let times = 0; times < 2; times++) {
      last().crash('out of memory');
      await vi.advanceTimersByTimeAsync(10_000);
    }
    expect(engines.map(({ isMakeshift }) => isMakeshift)).toEqual([false, true, false, false]);
    last().ready();
    last().finish(last().sent[0]?.id ?? -1);
    await expect(answer).resolves.toBeDefined();
  });
});
