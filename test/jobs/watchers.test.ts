import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { JobStore } from '../../src/jobs/job-store.js';
import { JobWatchers } from '../../src/jobs/watchers.js';

describe('JobWatchers', () => {
  let change: (id: string) => void;
  let watchers: JobWatchers;
  beforeEach(() => {
    const store: Pick<JobStore, 'onChange' | 'recheckMs'> = {
      recheckMs: 2000,
      onChange: (listener) => {
        change = listener;
      },
    };
    watchers = new JobWatchers(store);
  });

  it('wake those who wait for this job', async () => {
    using watch = watchers.watch('a');
    const next = watch.next(600_000);
    change('b');
    change('a');
    await expect(next).resolves.toBeUndefined();
  });

  it('remember a change that came before somebody waited', async () => {
    using watch = watchers.watch('a');
    change('a');
    await expect(watch.next(600_000)).resolves.toBeUndefined();
  });

  it('let nobody sleep for long, since hints can be lost', async () => {
    vi.useFakeTimers();
    using watch = watchers.watch('a');
    const next = watch.next(600_000);
    await vi.advanceTimersByTimeAsync(2000);
    await expect(next).resolves.toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it('wake everybody at the end, and whoever comes later', async () => {
    using one = watchers.watch('a');
    using other = watchers.watch('b');
    const all = [one.next(600_000), other.next(600_000)];
    watchers.close();
    await Promise.all(all);
    await expect(watchers.watch('c').next(600_000)).resolves.toBeUndefined();
    expect(watchers.isClosed).toBe(true);
  });

  it('wake one that is no longer needed', async () => {
    const watch = watchers.watch('a');
    const next = watch.next(600_000);
    watch[Symbol.dispose]();
    await expect(next).resolves.toBeUndefined();
  });
});
