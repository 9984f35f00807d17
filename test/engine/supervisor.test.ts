import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Cancellation } from '../../src/cancellation.js';
import { EngineSupervisor, type SupervisorHost } from '../../src/engine/supervisor.js';
import { expectRejection } from '../helpers/errors.js';
import type { FakeEngine } from '../helpers/fake-engine.js';
import { engineHost, request } from '../helpers/fake-engine.js';

describe('EngineSupervisor', () => {
  let engines: FakeEngine[];
  let supervisor: EngineSupervisor;
  let host: SupervisorHost;
  let killers: number[];
  let wasted: number;
  const last = (): FakeEngine => engines.at(-1) as FakeEngine;

  beforeEach(() => {
    vi.useFakeTimers();
    engines = [];
    killers = [];
    wasted = 0;
    host = {
      ...engineHost(engines),
      onWasted: () => {
        wasted++;
      },
      onKiller: (_request, kills) => {
        killers.push(kills);
        return kills > 1;
      },
    };
    supervisor = new EngineSupervisor(host, 1000);
  });
  afterEach(() => {
    supervisor.stop();
    vi.useRealTimers();
  });

  async function start(): Promise<void> {
    const started = supervisor.start();
    last().ready();
    await started;
  }

  it('rejects its start when the first engine cannot load', async () => {
    const started = supervisor.start();
    last().events.onEnd('the file is broken');
    await expect(started).rejects.toThrow('the file is broken');
    expect(engines).toHaveLength(1);
  });

  it('holds items until the engine is ready, then answers them', async () => {
    const started = supervisor.start();
    const answer = supervisor.submit(request());
    expect(last().sent).toHaveLength(0);
    last().ready();
    await started;
    last().finish(last().sent[0]?.id ?? -1);
    await expect(answer).resolves.toMatchObject({ detections: [], batch: { size: 1 } });
  });

  it('tries the items of a crashed engine once more, then gives up on them', async () => {
    await start();
    const answer = supervisor.submit(request());
    const outcome = expectRejection('image_quarantined', answer);
    const [first] = engines;
    first?.crash('SIGSEGV');
    expect(supervisor.isReady).toBe(false);
    await vi.advanceTimersByTimeAsync(0);
    last().ready();
    expect(last()).not.toBe(first);
    expect(last().sent).toHaveLength(1);
    last().crash('SIGSEGV');
    await outcome;
    // Alone both times: the first death says that it may be its fault, the second that it is.
    expect(killers).toEqual([1, 2]);
    expect(supervisor.restarts).toBe(2);
  });

  it('tries suspects alone, so that one bad item costs no other', async () => {
    await start();
    const bad = supervisor.submit(request());
    const good = [supervisor.submit(request()), supervisor.submit(request())];
    const outcome = expectRejection('image_quarantined', bad);
    const poison = last().sent[0]?.id;
    last().crash('SIGSEGV');
    const late = supervisor.submit(request());
    const finished: number[] = [];
    for (let turn = 0; turn < 20 && finished.length < 3; turn++) {
      await vi.advanceTimersByTimeAsync(1000);
      if (!supervisor.isReady) last().ready();
      const inside = last().sent.filter(({ id }) => !finished.includes(id));
      if (finished.length < 2) expect(inside).toHaveLength(1);
      for (const { id } of inside) {
        if (id === poison) {
          last().crash('SIGSEGV');
        } else {
          finished.push(id);
          last().finish(id);
        }
      }
    }
    await outcome;
    expect(killers).toEqual([2]);
    await expect(Promise.all([...good, late])).resolves.toHaveLength(3);
  });

  it('ends a trial when the engine has reported, not when the client has left', async () => {
    await start();
    const impatient = new Cancellation();
    const bad = supervisor.submit(request(impatient));
    const good = supervisor.submit(request());
    last().crash('SIGSEGV');
    await vi.advanceTimersByTimeAsync(0);
    last().ready();
    expect(last().sent).toHaveLength(1);
    impatient.cancel(new Error('gave up'));
    await expect(bad).rejects.toThrow('gave up');
    // The bad one is still in there and may take whoever joins it along.
    expect(last().sent).toHaveLength(1);
    last().crash('SIGSEGV');
    await vi.advanceTimersByTimeAsync(1000);
    last().ready();
    last().finish(last().sent[0]?.id ?? -1);
    await expect(good).resolves.toBeDefined();
  });

  it('takes an engine that cannot even be started as one that ended', async () => {
    await start();
    const working = { ...host };
    host.spawn = () => {
      throw new Error('EMFILE');
    };
    last().crash();
    await vi.advanceTimersByTimeAsync(600);
    expect(supervisor.restarts).toBeGreaterThan(1);
    Object.assign(host, working);
    await vi.advanceTimersByTimeAsync(10_000);
    last().ready();
    expect(supervisor.isReady).toBe(true);
  });

  it('does not count a crash against items that were not inside', async () => {
    await start();
    last().crash();
    const answer = supervisor.submit(request());
    await vi.advanceTimersByTimeAsync(0);
    last().events.onEnd('again');
    await vi.advanceTimersByTimeAsync(500);
    last().ready();
    last().finish(last().sent[0]?.id ?? -1);
    await expect(answer).resolves.toBeDefined();
  });

  it('backs off in a crash loop and stays alive', async () => {
    await start();
    for (let crash = 0; crash < 6; crash++) {
      last().events.onEnd('loop');
      await vi.advanceTimersByTimeAsync(10_000);
    }
    expect(engines).toHaveLength(7);
    last().ready();
    expect(supervisor.isReady).toBe(true);
  });

  it('cancels in the engine what was sent, and forgets what was not', async () => {
    await start();
    const cancellation = new Cancellation();
    const answer = supervisor.submit(request(cancellation));
    cancellation.cancel(new Error('client gone'));
    await expect(answer).rejects.toThrow('client gone');
    expect(last().cancelled).toEqual([last().sent[0]?.id]);

    const early = new Cancellation();
    early.cancel(new Error('too late'));
    await expect(supervisor.submit(request(early))).rejects.toThrow('too late');
    expect(last().sent).toHaveLength(1);
  });

  it('kills an engine that does not answer pings', async () => {
    await start();
    await vi.advanceTimersByTimeAsync(900);
    expect(last().endedFor).toBeUndefined();
    const [first] = engines;
    await vi.advanceTimersByTimeAsync(600);
    expect(first?.endedFor).toContain('did not answer');
    expect(engines.length).toBeGreaterThan(1);
  });

  it('lets an engine live that does', async () => {
    await start();
    for (let tick = 0; tick < 20; tick++) {
      await vi.advanceTimersByTimeAsync(250);
      last().events.onPong({ rssBytes: 5, drift: 1 });
    }
    expect(last().endedFor).toBeUndefined();
    expect(supervisor.vitals.rssBytes).toBe(5);
  });

  it('blames the items of the batch that hung, when the engine can still tell', async () => {
    await start();
    const all = [1, 2, 3].map(() => supervisor.submit(request()));
    const [, second] = last().sent;
    last().events.onStuck?.({ ids: [second?.id ?? -1] });
    last().crash('it hung');
    expect(killers).toEqual([1]);
    for (let turn = 0; turn < 3; turn++) {
      await vi.advanceTimersByTimeAsync(1000);
      if (!supervisor.isReady) last().ready();
      last().finish(last().sent.at(-1)?.id ?? -1);
    }
    await expect(Promise.all(all)).resolves.toHaveLength(3);
  });

  it('blames nobody for an engine that was killed because it makes no sense', async () => {
    await start();
    const all = [1, 2].map(() => supervisor.submit(request()));
    last().kill('it sent what is not a frame');
    expect(killers).toEqual([]);
    for (let turn = 0; turn < 2; turn++) {
      await vi.advanceTimersByTimeAsync(1000);
      if (!supervisor.isReady) last().ready();
      last().finish(last().sent.at(-1)?.id ?? -1);
    }
    await expect(Promise.all(all)).resolves.toHaveLength(2);
  });

  it('takes no results without the batch they come from', async () => {
    await start();
    const answer = supervisor.submit(request());
    const id = last().sent[0]?.id ?? -1;
    const timings = { decodeMs: 1, inferMs: 1, postMs: 1 };
    const items = [{ id, detections: [], timings }];
    expect(() => {
      last().events.onResults({ items });
    }).toThrow('without a batch');
    last().finish(id);
    await expect(answer).resolves.toBeDefined();
  });

  it('lets another engine take over when the first one is empty, and loses nothing', async () => {
    await start();
    const [first] = engines;
    const before = supervisor.submit(request());
    supervisor.recycle();
    expect(engines).toHaveLength(2);
    last().ready();
    expect(first?.endedFor).toBeUndefined();
    first?.finish(first.sent[0]?.id ?? -1);
    await expect(before).resolves.toBeDefined();
    expect(first?.endedFor).toBeDefined();
    const after = supervisor.submit(request());
    last().finish(last().sent[0]?.id ?? -1);
    await expect(after).resolves.toBeDefined();
    expect([supervisor.restarts, engines.length]).toEqual([0, 2]);
  });

  it('lets it take over even if there is always something to do', async () => {
    await start();
    const [first] = engines;
    const answers = [supervisor.submit(request())];
    supervisor.recycle();
    last().ready();
    // What comes now waits a moment, instead of keeping the first one busy for ever.
    answers.push(supervisor.submit(request()));
    expect([first?.sent.length, last().sent.length]).toEqual([1, 0]);
    first?.finish(first.sent[0]?.id ?? -1);
    expect(last().sent).toHaveLength(1);
    last().finish(last().sent[0]?.id ?? -1);
    await expect(Promise.all(answers)).resolves.toHaveLength(2);
  });

  it('does without a successor that fails, and without one when the first engine crashes', async () => {
    await start();
    const [first] = engines;
    supervisor.recycle();
    last().events.onEnd('out of memory');
    supervisor.recycle();
    const successor = last();
    expect(engines).toHaveLength(3);
    first?.crash('SIGSEGV');
    expect(successor.endedFor).toBeDefined();
    await vi.advanceTimersByTimeAsync(0);
    last().ready();
    expect([supervisor.isReady, supervisor.restarts, engines.length]).toEqual([true, 1, 4]);
  });

  it('counts results that nobody waits for', async () => {
    await start();
    last().finish(4711);
    expect(wasted).toBe(1);
  });
});
