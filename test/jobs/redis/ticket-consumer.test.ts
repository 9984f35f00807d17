import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Outcome, TicketWorker } from '../../../src/jobs/redis/bull.js';
import type { Ticket } from '../../../src/jobs/redis/keys.js';
import { TicketConsumer } from '../../../src/jobs/redis/ticket-consumer.js';
import { SILENT } from '../../helpers/redis-store.js';

class FakeWorker {
  slots: number;
  readonly run: (ticket: Ticket) => Promise<Outcome>;
  readonly calls: string[] = [];

  constructor(slots: number, run: (ticket: Ticket) => Promise<Outcome>) {
    this.slots = slots;
    this.run = run;
  }
  pause(): Promise<void> {
    this.calls.push('pause');
    return Promise.resolve();
  }
  resume(): Promise<void> {
    this.calls.push('resume');
    return Promise.resolve();
  }
  close(isForced: boolean): Promise<void> {
    this.calls.push(isForced ? 'force' : 'close');
    return Promise.resolve();
  }
}

const TICKET = { id: 'a', number: '0' };

describe('whoever takes tickets', () => {
  let workers: FakeWorker[];
  let isUp: boolean;
  let isWaiting: boolean;
  let finish: (() => void)[];
  let consumer: TicketConsumer;

  beforeEach(() => {
    vi.useFakeTimers();
    [workers, isUp, isWaiting, finish] = [[], true, false, []];
    consumer = new TicketConsumer({
      slots: 2,
      queue: 'q',
      log: SILENT,
      createWorker: (slots, run) => {
        const worker = new FakeWorker(slots, run);
        workers.push(worker);
        return worker as unknown as TicketWorker;
      },
      run: () =>
        new Promise((resolve) => {
          finish.push(() => {
            resolve({ kind: 'done' });
          });
        }),
      busy: () => finish.length,
      isUp: () => isUp,
      isWaiting: () => Promise.resolve(isWaiting),
    });
  });
  afterEach(() => {
    consumer.abort();
    vi.useRealTimers();
  });

  it('keeps a quiet worker while nothing waits', async () => {
    await vi.advanceTimersByTimeAsync(60_000);
    expect(workers).toHaveLength(1);
  });

  it('replaces a worker that takes nothing although jobs wait, ever more rarely', async () => {
    isWaiting = true;
    await vi.advanceTimersByTimeAsync(6000);
    expect(workers).toHaveLength(2);
    expect(workers[0]?.calls).toEqual(['pause', 'force']);
    expect(workers[1]?.slots).toBe(2);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(workers.length).toBeGreaterThan(2);
    expect(workers.length).toBeLessThan(8);
  });

  it('takes nothing while it is held, and is not replaced for that', async () => {
    consumer.hold(true);
    consumer.hold(true);
    isWaiting = true;
    // One that was on its way already.
    expect(await workers[0]?.run(TICKET)).toEqual({ kind: 'back' });
    await vi.advanceTimersByTimeAsync(60_000);
    consumer.hold(false);
    expect(performance.now() - consumer.movedAt).toBe(0);
    expect(workers.map(({ calls }) => calls)).toEqual([['pause', 'resume']]);
    void workers[0]?.run(TICKET);
    expect(consumer.active).toBe(1);
  });

  it('does not blame the worker while Redis is away', async () => {
    [isWaiting, isUp] = [true, false];
    await vi.advanceTimersByTimeAsync(60_000);
    expect(workers).toHaveLength(1);
  });

  it('lets the old worker keep what it has in work', async () => {
    void workers[0]?.run(TICKET);
    isWaiting = true;
    await vi.advanceTimersByTimeAsync(6000);
    expect(workers[0]?.calls).toEqual(['pause']);
    expect(workers[1]?.slots).toBe(1);
    isWaiting = false;
    finish[0]?.();
    await vi.advanceTimersByTimeAsync(1);
    expect(workers[0]?.calls).toEqual(['pause', 'force']);
    expect(workers[1]?.slots).toBe(2);
  });

  it('does not call it stuck when all slots are taken', async () => {
    void workers[0]?.run(TICKET);
    void workers[0]?.run(TICKET);
    isWaiting = true;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(workers).toHaveLength(1);
    expect(consumer.active).toBe(2);
  });

  it('gives back what comes after it was closed, and waits for what it has', async () => {
    void workers[0]?.run(TICKET);
    let isClosed = false;
    void consumer.close().then(() => (isClosed = true));
    expect(await workers[0]?.run(TICKET)).toEqual({ kind: 'back' });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(isClosed).toBe(false);
    finish[0]?.();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(isClosed).toBe(true);
    expect(workers[0]?.calls).toEqual(['close']);
  });

  it('does not wait for Redis without end when it is closed', async () => {
    void workers[0]?.run(TICKET);
    // It is computed, but what came of it cannot be written.
    finish.length = 0;
    isUp = false;
    const closed = consumer.close();
    await vi.advanceTimersByTimeAsync(10_000);
    await expect(closed).resolves.toBeUndefined();
    expect(workers[0]?.calls).toEqual(['force']);
  });

  it('knows when it last took or finished something', async () => {
    const before = consumer.movedAt;
    await vi.advanceTimersByTimeAsync(10);
    void workers[0]?.run(TICKET);
    const taken = consumer.movedAt;
    expect(taken).toBeGreaterThan(before);
    await vi.advanceTimersByTimeAsync(10);
    finish[0]?.();
    await vi.advanceTimersByTimeAsync(0);
    expect(consumer.movedAt).toBeGreaterThan(taken);
  });
});
