import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Pulse } from '../../src/engine/pulse.js';

describe('the pulse of another process', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function watch(timeoutMs: number) {
    const patient = { ask: vi.fn(), onSilence: vi.fn() };
    const pulse = new Pulse(timeoutMs, patient);
    pulse.start();
    return { pulse, ...patient };
  }

  it('is asked for every second, and missed once after the timeout', () => {
    const { ask, onSilence } = watch(10_000);
    vi.advanceTimersByTime(10_000);
    expect([ask.mock.calls.length, onSilence.mock.calls.length]).toEqual([10, 0]);
    vi.advanceTimersByTime(60_000);
    expect([ask.mock.calls.length, onSilence.mock.calls.length]).toEqual([10, 1]);
  });

  it('is there as long as anything is heard', () => {
    const { pulse, onSilence } = watch(2000);
    for (let second = 0; second < 60; second++) {
      vi.advanceTimersByTime(1999);
      pulse.heard();
    }
    expect(onSilence).not.toHaveBeenCalled();
    vi.advanceTimersByTime(4000);
    expect(onSilence).toHaveBeenCalledOnce();
  });

  it('is not missed because nobody could ask', () => {
    const { ask, onSilence } = watch(10_000);
    vi.advanceTimersByTime(1000);
    // This process stands still for an hour; one question is due when it goes on.
    vi.setSystemTime(Date.now() + 3_600_000);
    vi.advanceTimersByTime(1000);
    expect([ask.mock.calls.length, onSilence.mock.calls.length]).toEqual([2, 0]);
  });

  it('is asked for more often where the timeout is short, and not any more at the end', () => {
    const { pulse, ask, onSilence } = watch(400);
    vi.advanceTimersByTime(300);
    expect(ask).toHaveBeenCalledTimes(3);
    pulse.stop();
    vi.advanceTimersByTime(10_000);
    expect([ask.mock.calls.length, onSilence.mock.calls.length]).toEqual([3, 0]);
  });
});
