import { describe, expect, it } from 'vitest';
import { feedDelayMs, MemoryFeed } from '../../src/gpu/memory-feed.js';
import { FakeGpuHost } from '../helpers/fake-gpu-sources.js';

function createFeed(silentMs = 10_000) {
  const host = new FakeGpuHost();
  const lines: string[] = [];
  const feed = new MemoryFeed(['--query-gpu='], silentMs, host, (line) => lines.push(line));
  const passMs = (ms: number): void => {
    for (let left = ms; left > 0; left -= 1000) {
      host.time += Math.min(1000, left);
      feed.tick();
    }
  };
  feed.tick();
  return { host, feed, lines, passMs };
}

describe('a feed', () => {
  it('starts one tool and passes on what it says', () => {
    const { host, lines, passMs } = createFeed();
    host.tool().say('a');
    passMs(5000);
    host.tool().say('b');
    expect(lines).toEqual(['a', 'b']);
    expect(host.started).toHaveLength(1);
  });

  it('starts a tool that ends again, ever more rarely', () => {
    const { host, passMs } = createFeed();
    for (let index = 0; index < 4; index++) {
      const count = host.started.length;
      host.tool().end();
      passMs(feedDelayMs(index) - 1);
      expect(host.started).toHaveLength(count);
      passMs(1);
      expect(host.started).toHaveLength(count + 1);
    }
  });

  it('starts one that had lived for long again soon', () => {
    const { host, passMs } = createFeed(Infinity);
    for (let index = 0; index < 6; index++) {
      host.tool().end();
      passMs(feedDelayMs(index));
    }
    passMs(60_000);
    host.tool().end();
    const count = host.started.length;
    passMs(1000);
    expect(host.started).toHaveLength(count + 1);
  });

  it('never waits longer than a minute', () => {
    expect([feedDelayMs(0), feedDelayMs(6), feedDelayMs(1e9)]).toEqual([1000, 60_000, 60_000]);
  });

  it('ends a tool that says nothing, and starts no other before it is gone', () => {
    const { host, passMs } = createFeed();
    passMs(10_000);
    expect(host.tool().isStopped).toBe(false);
    passMs(1000);
    expect(host.tool().isStopped).toBe(true);
    passMs(3_600_000);
    expect(host.started).toHaveLength(1);
    host.tool().end();
    passMs(1000);
    expect(host.started).toHaveLength(2);
  });

  it('tries again when a tool cannot be started', () => {
    const host = new FakeGpuHost();
    let isBroken = true;
    const feed = new MemoryFeed(
      [],
      1000,
      {
        now: host.now,
        start: (args, events) => {
          if (isBroken) throw new Error('no descriptors');
          return host.start(args, events);
        },
      },
      () => undefined,
    );
    feed.tick();
    isBroken = false;
    host.time += 1000;
    feed.tick();
    expect(host.started).toHaveLength(1);
  });

  it('is silent after it was stopped', () => {
    const { host, feed, lines, passMs } = createFeed();
    feed.stop();
    expect(host.tool().isStopped).toBe(true);
    host.tool().say('late');
    host.tool().end();
    passMs(60_000);
    expect([lines, host.started.length]).toEqual([[], 1]);
  });
});
