import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ShoalError } from '../../../src/errors.js';
import { EmbeddedCourier } from '../../../src/jobs/embedded/embedded-courier.js';
import type { ThreadLink } from '../../../src/jobs/embedded/thread-link.js';
import type { Delivery } from '../../../src/jobs/job-store.js';
import { newJob } from '../../helpers/jobs.js';

/** A store with one job whose receiver waits, on a disk that can be full. */
class FakeStore {
  isFull = true;
  refusals = 0;
  written: unknown[] = [];
  readonly #id = newJob().id;

  ask(operation: string, ...values: readonly unknown[]): Promise<unknown> {
    if (operation === 'takeDeliveries') {
      const isDue = this.written.length === 0 && !(values[1] as string[]).includes(this.#id);
      const delivery = { job: { id: this.#id, finishedAt: 1 }, webhookUrl: '', attempt: 1 };
      return Promise.resolve({ deliveries: isDue ? [delivery] : [], nextAt: undefined });
    }
    if (this.isFull) {
      this.refusals++;
      return Promise.reject(new ShoalError('store_full', 'The disk is full.'));
    }
    this.written.push(values[1]);
    return Promise.resolve();
  }
}

describe('a delivery that cannot be written down', () => {
  let store: FakeStore;
  let sent: Delivery[];
  let problems: unknown[];
  let courier: EmbeddedCourier;

  beforeEach(() => {
    vi.useFakeTimers();
    [store, sent, problems] = [new FakeStore(), [], []];
    courier = new EmbeddedCourier(
      () => store as unknown as ThreadLink,
      {
        slots: 4,
        run: (delivery) => {
          sent.push(delivery);
          return Promise.resolve({ kind: 'delivered' });
        },
      },
      (error) => problems.push(error),
    );
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is not made again, and is written when there is room', async () => {
    for (let n = 0; n < 20; n++) {
      courier.wake();
      await vi.advanceTimersByTimeAsync(500);
    }
    expect(sent).toHaveLength(1);
    expect(problems).toHaveLength(1);
    expect(store.refusals).toBeGreaterThan(10);
    expect(store.refusals).toBeLessThan(30);
    store.isFull = false;
    await vi.advanceTimersByTimeAsync(1000);
    expect(store.written).toEqual([{ kind: 'delivered' }]);
    expect(sent).toHaveLength(1);
    await courier.close();
  });

  it('is left to the next start when the server stops', async () => {
    await vi.advanceTimersByTimeAsync(500);
    const closed = courier.close();
    await vi.advanceTimersByTimeAsync(1000);
    await closed;
    expect([sent.length, store.written.length, courier.active]).toEqual([1, 0, 0]);
  });
});
