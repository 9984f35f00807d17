import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { write } from '../../src/http/job-events.js';

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
