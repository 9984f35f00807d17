import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { type Context, forEach } from '../../../bench/gpu/context.js';
import { reasonIn } from '../../../bench/gpu/child.js';
import { parseOptions } from '../../../bench/gpu/options.js';
import { emptyResults } from '../../../bench/gpu/results.js';
import { runPart } from '../../../bench/gpu/run-part.js';

const context = (): Omit<Context, 'isOver' | 'children'> => ({
  root: '.',
  options: parseOptions([]),
  cacheDir: '.',
  images: [],
  results: emptyResults(0, 'today'),
  save: () => undefined,
  tell: () => undefined,
});

describe('a part', () => {
  it('that throws is told as failed', async () => {
    const fail = (): never => {
      throw new Error('no such thing');
    };
    expect(await runPart('raw', fail, context(), 60)).toMatchObject({
      part: 'raw',
      outcome: 'failed',
      why: 'no such thing',
    });
  });

  it('goes on after one of its things failed, and says how many did', async () => {
    const shared = context();
    const done: string[] = [];
    const outcome = await runPart(
      'served',
      (own) =>
        forEach(own, 'served', ['a', 'b', 'c'], String, (thing) => {
          if (thing === 'b') throw new Error('b is broken');
          done.push(thing);
          return Promise.resolve();
        }),
      shared,
      60,
    );
    expect(done).toEqual(['a', 'c']);
    expect(outcome).toMatchObject({ outcome: 'done', why: '1 failed' });
    expect(shared.results.failures).toEqual([{ part: 'served', what: 'b', why: 'b is broken' }]);
  });

  it('that never ends is given up, and its processes with it', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const ended = once(child, 'exit');
    const outcome = await runPart(
      'soak',
      ({ children }) => {
        children.add(child);
        return new Promise(() => undefined);
      },
      context(),
      0.01,
    );
    expect(outcome).toMatchObject({ outcome: 'failed', why: 'not done after 0 s' });
    expect(await ended).toEqual([null, 'SIGKILL']);
  });
});

describe('why a process died', () => {
  it('is its line about the error, without the lines around it', () => {
    const text = 'warning: x\nnode:internal\n    ^\nError: no library\n    at new X\n\nNode.js v20';
    expect(reasonIn(text)).toBe('Error: no library');
  });

  it('is the end of what it wrote where there is no such line', () => {
    expect(reasonIn('Segmentation fault\n')).toBe('Segmentation fault');
  });
});
