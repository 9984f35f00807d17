import { mkdtempSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeFolder } from '../../src/config/make-folder.js';

const place = (): string => mkdtempSync(join(tmpdir(), 'shoal-folder-'));

describe('makeFolder', () => {
  it('makes all that is missing, with the same rights, also when several do', async () => {
    const [outer, inner] = [join(place(), 'a'), 'b/c'];
    await Promise.all([1, 2, 3].map(() => makeFolder(join(outer, inner), 0o700)));
    expect(statSync(join(outer, inner)).isDirectory()).toBe(true);
    expect(statSync(outer).mode & 0o777).toBe(0o700);
    await makeFolder(join(outer, inner));
  });

  it('says what is in the way', async () => {
    const file = join(place(), 'file');
    writeFileSync(file, '');
    await expect(makeFolder(file)).rejects.toThrow('not a folder');
    await expect(makeFolder(join(file, 'a', 'b'))).rejects.toThrow('ENOTDIR');
  });

  it.runIf(process.platform === 'linux')('gives up where nothing can be made', async () => {
    await expect(makeFolder('/proc/shoal/data')).rejects.toThrow("mkdir '/proc/shoal'");
  });
});
