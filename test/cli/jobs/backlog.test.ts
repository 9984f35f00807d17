import { describe, expect, it } from 'vitest';
import { Backlog } from '../../../src/cli/jobs/backlog.js';
import { runCrew } from '../../../src/cli/jobs/crew.js';

describe('a backlog', () => {
  it('gives back what was put in, in order, however long it is', async () => {
    const backlog = new Backlog<number>();
    const numbers = Array.from({ length: 5000 }, (_, at) => at);
    for (const number of numbers) backlog.push(number);
    backlog.close();
    const taken: unknown[] = [];
    for (let item = await backlog.take(); item !== undefined; item = await backlog.take()) {
      taken.push(item);
    }
    expect(taken).toEqual(numbers);
  });

  it('lets takers wait, and tells them when there will be nothing more', async () => {
    const backlog = new Backlog<string>();
    const takers = [backlog.take(), backlog.take(), backlog.take()];
    backlog.push('a');
    backlog.push('b');
    backlog.close();
    expect(await Promise.all(takers)).toEqual(['a', 'b', undefined]);
  });
});

describe('a crew', () => {
  it('ends with the first failure, whatever the others say when they are stopped', async () => {
    const stop = new AbortController();
    const stopped = () =>
      new Promise<void>((_resolve, reject) => {
        stop.signal.addEventListener('abort', () => {
          reject(new Error('stopped'));
        });
      });
    const failing = () => Promise.reject(new Error('first'));
    await expect(runCrew([stopped, failing, stopped], stop)).rejects.toThrow('first');
  });
});
