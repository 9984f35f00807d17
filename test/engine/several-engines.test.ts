import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EngineSupervisor } from '../../src/engine/supervisor.js';
import { expectRejection } from '../helpers/errors.js';
import { engineHost, FakeEngine, request } from '../helpers/fake-engine.js';

/** An engine for every seat, the newest of each last. */
function setUp(onKiller: (kills: number) => boolean = () => false) {
  const spawned: FakeEngine[][] = [];
  const supervisor = new EngineSupervisor(
    {
      ...engineHost([]),
      spawn: (events, seat) => {
        const engine = new FakeEngine(events);
        (spawned[seat] ??= []).push(engine);
        return engine;
      },
      onKiller: (_request, kills) => onKiller(kills),
    },
    1e9,
  );
  const engine = (seat: number): FakeEngine => spawned[seat]?.at(-1) as FakeEngine;
  const start = async (count: number): Promise<void> => {
    const started = supervisor.start(count);
    for (let seat = 0; seat < count; seat++) engine(seat).ready();
    await started;
  };
  return { supervisor, spawned, engine, start };
}

describe('several engines', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('share one queue: everything goes to the one with the least to do', async () => {
    const { supervisor, engine, start } = setUp();
    await start(2);
    const answers = [1, 2, 3, 4].map(() => supervisor.submit(request()));
    expect([engine(0).sent.length, engine(1).sent.length]).toEqual([2, 2]);
    for (const { id } of engine(0).sent) engine(0).finish(id);
    answers.push(supervisor.submit(request()));
    expect([engine(0).sent.length, engine(1).sent.length]).toEqual([3, 2]);
    engine(0).finish(engine(0).sent[2]?.id ?? -1);
    for (const { id } of engine(1).sent) engine(1).finish(id);
    await expect(Promise.all(answers)).resolves.toHaveLength(5);
  });

  it('leave those alone that are to be avoided, unless there is no other', async () => {
    const { supervisor, engine, start } = setUp();
    await start(2);
    supervisor.avoid([0]);
    const answers = [1, 2, 3].map(() => supervisor.submit(request()));
    expect([engine(0).sent.length, engine(1).sent.length]).toEqual([0, 3]);
    supervisor.avoid([0, 1]);
    answers.push(supervisor.submit(request()));
    expect([engine(0).sent.length, engine(1).sent.length]).toEqual([1, 3]);
    supervisor.avoid([]);
    answers.push(supervisor.submit(request()));
    expect([engine(0).sent.length, engine(1).sent.length]).toEqual([2, 3]);
    for (const one of [engine(0), engine(1)]) for (const { id } of one.sent) one.finish(id);
    await expect(Promise.all(answers)).resolves.toHaveLength(5);
  });

  it('go on while one of them restarts, which then tries what it was working on', async () => {
    const { supervisor, engine, start } = setUp();
    await start(2);
    const answers = [1, 2, 3, 4].map(() => supervisor.submit(request()));
    engine(0).crash('SIGSEGV');
    expect(supervisor.isReady).toBe(true);
    await vi.advanceTimersByTimeAsync(0);
    const after = supervisor.submit(request());
    expect([engine(0).sent.length, engine(1).sent.length]).toEqual([0, 3]);
    engine(0).ready();
    expect(engine(0).sent).toHaveLength(1);
    engine(0).finish(engine(0).sent[0]?.id ?? -1);
    engine(0).finish(engine(0).sent[1]?.id ?? -1);
    for (const { id } of engine(1).sent) engine(1).finish(id);
    await expect(Promise.all([...answers, after])).resolves.toHaveLength(5);
  });

  it('let another one try it when the first does not come back', async () => {
    const { supervisor, engine, start } = setUp();
    await start(2);
    const answers = [supervisor.submit(request()), supervisor.submit(request())];
    engine(0).crash('SIGSEGV');
    for (let crash = 0; crash < 5; crash++) {
      await vi.advanceTimersByTimeAsync(2000);
      engine(0).events.onEnd('no such device');
    }
    engine(1).finish(engine(1).sent[0]?.id ?? -1);
    expect(engine(1).sent).toHaveLength(2);
    engine(1).finish(engine(1).sent[1]?.id ?? -1);
    await expect(Promise.all(answers)).resolves.toHaveLength(2);
  });

  it('let another one try it when the first takes long to load', async () => {
    const { supervisor, engine, start } = setUp();
    await start(2);
    const answers = [supervisor.submit(request()), supervisor.submit(request())];
    engine(0).crash('SIGSEGV');
    await vi.advanceTimersByTimeAsync(4000);
    engine(1).finish(engine(1).sent[0]?.id ?? -1);
    expect(engine(1).sent, 'it may be back soon').toHaveLength(1);
    await vi.advanceTimersByTimeAsync(2000);
    expect(engine(1).sent).toHaveLength(2);
    engine(1).finish(engine(1).sent[1]?.id ?? -1);
    await expect(Promise.all(answers)).resolves.toHaveLength(2);
  });

  it('take pictures that are meant for one of them, which never count as killers', async () => {
    const killers: number[] = [];
    const { supervisor, engine, start } = setUp((kills) => {
      killers.push(kills);
      return true;
    });
    await start(2);
    const [, second] = supervisor.seats;
    if (second === undefined) throw new Error('there is no second engine');
    const canary = supervisor.submitTo(second, request());
    expect([engine(0).sent.length, engine(1).sent.length]).toEqual([0, 1]);
    const rejection = expectRejection('engine_unavailable', canary);
    engine(1).crash('SIGSEGV');
    await rejection;
    await vi.advanceTimersByTimeAsync(0);
    engine(1).ready();
    expect(engine(1).sent).toHaveLength(0);
    expect(killers).toEqual([]);
  });

  it('make room first where two do not fit, and lose nothing', async () => {
    const { supervisor, spawned, engine, start } = setUp();
    await start(1);
    const [seat] = supervisor.seats;
    const before = supervisor.submit(request());
    seat?.recycle(true);
    engine(0).events.onEnd('out of memory');
    const after = supervisor.submit(request());
    const [old] = spawned[0] ?? [];
    expect(old?.endedFor).toBeUndefined();
    old?.finish(old.sent[0]?.id ?? -1);
    await expect(before).resolves.toBeDefined();
    expect(old?.endedFor).toBeDefined();
    expect(spawned[0]).toHaveLength(3);
    engine(0).ready();
    engine(0).finish(engine(0).sent[0]?.id ?? -1);
    await expect(after).resolves.toBeDefined();
    expect(supervisor.restarts).toBe(0);
  });

  it('serve again with a makeshift after a crash, until a better one takes over', async () => {
    const engines: FakeEngine[] = [];
    const supervisor = new EngineSupervisor(
      {
        ...engineHost([]),
        spawn: (events, _seat, isUrgent) => {
          const engine = new FakeEngine(events, isUrgent);
          engines.push(engine);
          return engine;
        },
      },
      1e9,
    );
    const started = supervisor.start();
    engines[0]?.ready();
    await started;
    const answer = supervisor.submit(request());
    engines[0]?.crash('SIGSEGV');
    await vi.advanceTimersByTimeAsync(0);
    expect(engines.map(({ isMakeshift }) => isMakeshift)).toEqual([false, true]);
    engines[1]?.ready();
    expect(engines.map(({ isMakeshift }) => isMakeshift)).toEqual([false, true, false]);
    engines[1]?.finish(engines[1].sent[0]?.id ?? -1);
    await expect(answer).resolves.toBeDefined();
    engines[2]?.ready();
    expect(engines[1]?.endedFor).toBeDefined();
    expect([supervisor.isReady, supervisor.restarts]).toEqual([true, 1]);
    supervisor.stop();
  });

  it('settle every item exactly once, whatever happens in which order', async () => {
    const step = fc.record({
      what: fc.constantFrom('submit', 'submit', 'finish', 'finish', 'kill', 'ready', 'recycle'),
      seat: fc.nat(2),
    });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(step), async (count, steps) => {
        const { supervisor, spawned, engine, start } = setUp((kills) => kills > 1);
        await start(count);
        let settled = 0;
        let submitted = 0;
        const settle = (): void => {
          settled++;
        };
        const ready = new Set<FakeEngine>();
        for (let seat = 0; seat < count; seat++) ready.add(engine(seat));
        const getReady = (seat: number): void => {
          if (ready.has(engine(seat)) || engine(seat).endedFor !== undefined) return;
          ready.add(engine(seat));
          engine(seat).ready();
        };
        const finishAll = (seat: number): void => {
          for (const one of [...(spawned[seat] ?? [])]) {
            if (!ready.has(one) || one.endedFor !== undefined) continue;
            for (const { id } of one.sent.splice(0)) one.finish(id);
          }
        };
        for (const { what, seat: any } of steps) {
          const seat = any % count;
          if (what === 'submit') {
            submitted++;
            void supervisor.submit(request()).then(settle, settle);
          } else if (what === 'finish') finishAll(seat);
          else if (what === 'kill' && engine(seat).endedFor === undefined) {
            engine(seat).crash('SIGSEGV');
          } else if (what === 'recycle') supervisor.seats[seat]?.recycle(true);
          else if (what === 'ready') getReady(seat);
          await vi.advanceTimersByTimeAsync(0);
        }
        for (let turn = 0; turn < submitted * 3 + 30 && settled < submitted; turn++) {
          await vi.advanceTimersByTimeAsync(10_000);
          for (let seat = 0; seat < count; seat++) {
            getReady(seat);
            finishAll(seat);
          }
        }
        expect(settled).toBe(submitted);
        supervisor.stop();
      }),
      { numRuns: 200 },
    );
  });
});
