import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newRunKey, submissionKey } from '../../../src/cli/jobs/submission-key.js';
import { countOf, groupsOf, walk } from '../../../src/cli/jobs/walk.js';
import { ConfigError } from '../../../src/config/load.js';
import { folderOf } from '../../helpers/jobs-run.js';

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe('the search for images', () => {
  const root = folderOf({
    'b.PNG': '',
    'a/2.jpg': '',
    'a/10.webp': '',
    'a.jpeg': '',
    'notes.txt': '',
    'a/deep/er/x.jpg': '',
    'c.jpg.bak': '',
  });
  const found = async (...paths: string[]) =>
    (await collect(walk({ paths }))).map((path) => path.slice(root.length + 1));
  const all = ['a.jpeg', 'a/10.webp', 'a/2.jpg', 'a/deep/er/x.jpg', 'b.PNG'];

  it('finds them in all folders, sorted by path', async () => {
    expect(await found(root)).toEqual(all);
    expect(await countOf(walk({ paths: [root] }))).toBe(5);
  });

  it('takes files as they are given, whatever they are called', async () => {
    expect(await found(join(root, 'notes.txt'), join(root, 'b.PNG'))).toEqual([
      'notes.txt',
      'b.PNG',
    ]);
  });

  it('gives what several paths cover once', async () => {
    const [file, folder] = [join(root, 'b.PNG'), join(root, 'a')];
    expect(await found(root, file, folder, root)).toEqual(all);
    expect(await found(file, file, root)).toEqual(['b.PNG', ...all.slice(0, 4)]);
  });

  it('follows links to files and not to folders', async () => {
    const linked = folderOf({ 'real.jpg': '', 'sub/one.jpg': '' });
    symlinkSync(join(linked, 'real.jpg'), join(linked, 'link.jpg'));
    symlinkSync(linked, join(linked, 'sub', 'circle.jpg'));
    symlinkSync(join(linked, 'nowhere.jpg'), join(linked, 'broken.jpg'));
    const names = (await collect(walk({ paths: [linked] }))).map((path) =>
      path.slice(linked.length + 1),
    );
    expect(names).toEqual(['link.jpg', 'real.jpg', 'sub/one.jpg']);
  });

  it('refuses what is not there', async () => {
    await expect(found(join(root, 'nothing'))).rejects.toThrow(ConfigError);
  });
});

describe('groups', () => {
  it('keep everything in order, and all but the last are full', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer()),
        fc.integer({ min: 1, max: 10 }),
        async (all, size) => {
          async function* items() {
            await Promise.resolve();
            yield* all;
          }
          const groups = await collect(groupsOf(items(), size));
          expect(groups.flat()).toEqual(all);
          for (const group of groups.slice(0, -1)) expect(group).toHaveLength(size);
          expect(groups.every(({ length }) => length > 0 && length <= size)).toBe(true);
        },
      ),
    );
  });
});

describe('the key of a submission', () => {
  const image = (file: string, text: string) => ({ file, bytes: Buffer.from(text) });
  const key = submissionKey('run', { model: 'm' }, [image('a.jpg', 'x')]);

  it('is the same for the same run, settings, paths and bytes', () => {
    expect(submissionKey('run', { model: 'm' }, [image('a.jpg', 'x')])).toBe(key);
    const settings = { a: '1', b: '2' };
    expect(submissionKey('r', { b: '2', a: '1' }, [])).toBe(submissionKey('r', settings, []));
  });

  it.each([
    ['run', submissionKey('other', { model: 'm' }, [image('a.jpg', 'x')])],
    ['setting', submissionKey('run', { model: 'n' }, [image('a.jpg', 'x')])],
    ['path', submissionKey('run', { model: 'm' }, [image('b.jpg', 'x')])],
    ['content', submissionKey('run', { model: 'm' }, [image('a.jpg', 'y')])],
    [
      'number of images',
      submissionKey('run', { model: 'm' }, [image('a.jpg', 'x'), image('', '')]),
    ],
    ['border', submissionKey('run', { model: 'm' }, [image('a.jp', 'gx')])],
  ])('differs with another %s', (_what, other) => {
    expect(other).not.toBe(key);
  });

  it('can be sent as a header, with the longest prefix', () => {
    expect(submissionKey('x'.repeat(128), {}, [])).toMatch(/^[\x21-\x7e]{1,255}$/);
    expect(newRunKey()).not.toBe(newRunKey());
  });
});
