import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Cancellation } from '../../src/cancellation.js';
import type { EngineEvents } from '../../src/engine/engine-link.js';
import type { ItemMeta } from '../../src/engine/messages.js';
import { EngineSupervisor, type SupervisorHost } from '../../src/engine/supervisor.js';
import { expectRejection } from '../helpers/errors.js';

/** An engine that does nothing by itself. */
class FakeEngine {
  readonly sent: ItemMeta[] = [];
  readonly cancelled: number[] = [];
  pings = 0;
  killedFor: string | undefined;
  readonly events: EngineEvents;

  constructor(events: EngineEvents) {
    this.events = events;
  }

  sendItem(meta: ItemMeta): void {
    this.sent.push(meta);
  }
  sendCancel(id: number): void {
    this.cancelled.push(id);
  }
  sendPing(): void {
    this.pings++;
  }
  kill(reason = 'killed'): void {
    this.killedFor = reason;
    this.events.onEnd(reason);
  }
  ready(): void {
    this.events.onReady({ provider: 'fake', loadMs: 1 });
  }
  finish(id: number): void {
    const timings = { decodeMs: 1, inferMs: 1, postMs: 1 };
    this.events.onResults({ batchSize: 1, items: [{ id, detections: [], timings }] });
  }
}

const info = {
  format: 'jpeg',
  width: 1,
  height: 1,
  orientation: 1,
  components: 3,
  depth: 8,
  progressive: false,
} as const;
const request = (cancellation = new Cancellation()) => ({
  image: [Buffer.alloc(1)],
  info,
  threshold: 0.5,
  deadline: performance.now() + 10_000,
  cancellation,
});

describe('EngineSupervisor', () => {
  let engines: FakeEngine[];
  let supervisor: EngineSupervisor;
  let host: SupervisorHost;
  const last = (): FakeEngine => engines.at(-1) as FakeEngine;

  beforeEach(() => {
    vi.useFakeTimers();
    engines = [];
    host = {
      spawn: (events) => {
        const engine = new FakeEngine(events);
        engines.push(engine);
        return engine;
      },
      onBatch: () => undefined,
      onDropped: () => undefined,
      onRestart: () => undefined,
      onBackUp: () => undefined,
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
    await expect(answer).resolves.toMatchObject({ detections: [], batchSize: 1 });
  });

  it('tries the items of a crashed engine once more, then gives up on them', async () => {
    await start();
    const answer = supervisor.submit(request());
    const outcome = expectRejection('engine_unavailable', answer);
    const [first] = engines;
    first?.kill('SIGSEGV');
    expect(supervisor.isReady).toBe(false);
    await vi.advanceTimersByTimeAsync(0);
    last().ready();
    expect(last()).not.toBe(first);
    expect(last().sent).toHaveLength(1);
    last().kill('SIGSEGV');
    expect(await outcome).toContain('twice');
    expect(supervisor.restarts).toBe(2);
  });

  it('tries suspects alone, so that one bad item costs no other', async () => {
    await start();
    const bad = supervisor.submit(request());
    const good = [supervisor.submit(request()), supervisor.submit(request())];
    const outcome = expectRejection('engine_unavailable', bad);
    const poison = last().sent[0]?.id;
    last().kill('SIGSEGV');
    const late = supervisor.submit(request());
    const finished: number[] = [];
    for (let turn = 0; turn < 20 && finished.length < 3; turn++) {
      await vi.advanceTimersByTimeAsync(1000);
      if (!supervisor.isReady) last().ready();
      const inside = last().sent.filter(({ id }) => !finished.includes(id));
      if (finished.length < 2) expect(inside).toHaveLength(1);
      for (const { id } of inside) {
        if (id === poison) {
          last().kill('SIGSEGV');
        } else {
          finished.push(id);
          last().finish(id);
        }
      }
    }
    expect(await outcome).toContain('twice');
    await expect(Promise.all([...good, late])).resolves.toHaveLength(3);
  });

  it('ends a trial when the engine has reported, not when the client has left', async () => {
    await start();
    const impatient = new Cancellation();
    const bad = supervisor.submit(request(impatient));
    const good = supervisor.submit(request());
    last().kill('SIGSEGV');
    await vi.advanceTimersByTimeAsync(0);
    last().ready();
    expect(last().sent).toHaveLength(1);
    impatient.cancel(new Error('gave up'));
    await expect(bad).rejects.toThrow('gave up');
    // The bad one is still in there and may take whoever joins it along.
    expect(last().sent).toHaveLength(1);
    last().kill('SIGSEGV');
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
    last().kill();
    await vi.advanceTimersByTimeAsync(600);
    expect(supervisor.restarts).toBeGreaterThan(1);
    Object.assign(host, working);
    await vi.advanceTimersByTimeAsync(10_000);
    last().ready();
    expect(supervisor.isReady).toBe(true);
  });

  it('does not count a crash against items that were not inside', async () => {
    await start();
    last().kill();
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
    expect(last().killedFor).toBeUndefined();
    const [first] = engines;
    await vi.advanceTimersByTimeAsync(600);
    expect(first?.killedFor).toContain('did not answer');
    expect(engines.length).toBeGreaterThan(1);
  });

  it('lets an engine live that does', async () => {
    await start();
    for (let tick = 0; tick < 20; tick++) {
      await vi.advanceTimersByTimeAsync(250);
      last().events.onPong({ rssBytes: 5 });
    }
    expect(last().killedFor).toBeUndefined();
    expect(supervisor.rssBytes).toBe(5);
  });

  it('ignores results that nobody waits for', async () => {
    await start();
    expect(() => {
      last().finish(4711);
    }).not.toThrow();
  });
});
