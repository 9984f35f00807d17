import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { lastSeen, write } from '../../src/http/job-events.js';

describe('writing events', () => {
  it('waits for a slow reader, and leaves nothing behind', async () => {
    const slow = new PassThrough({ highWaterMark: 1 });
    const before = ['drain', 'close', 'error'].map((name) => slow.listenerCount(name));
    for (let count = 0; count < 30; count++) {
      const written = write(slow, 'an event\n');
      slow.read();
      await written;
    }
    expect(['drain', 'close', 'error'].map((name) => slow.listenerCount(name))).toEqual(before);
  });

  it('does not wait for a reader that is gone', async () => {
    const gone = new PassThrough({ highWaterMark: 1 });
    const written = write(gone, 'an event\n');
    gone.destroy();
    await expect(written).resolves.toBeUndefined();
  });
});

describe('what a reader of events has seen', () => {
  it.each([
    ['nothing', undefined, 0],
    ['an earlier version', '3', 3],
    ['the version of the job', '7', 7],
    ['what the job has not reached', '8', 0],
    ['what is no number', '-1', 0],
    ['several at once', ['3', '4'], 0],
  ])('is known after %s', (_name, header, seen) => {
    expect(lastSeen(header, 7)).toBe(seen);
  });
});
