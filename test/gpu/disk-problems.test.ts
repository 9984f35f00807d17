import { describe, expect, it } from 'vitest';
import { explainDiskError } from '../../src/gpu/install/disk-problems.js';

const failure = (fields: Readonly<Record<string, string>>): Error =>
  Object.assign(new Error(`${fields['code'] ?? ''}: some words, and more`), fields);
const explained = (error: unknown): string => (explainDiskError(error, '/cache') as Error).message;

describe('an error of the file system', () => {
  it('names the cache folder when the disk is full, whatever file was at hand', () => {
    const copying = { code: 'ENOSPC', path: '/node_modules/lib.so', dest: '/cache/lib.so' };
    const advice =
      'no space is left for /cache; make room or choose another folder with --cache-dir';
    expect(explained(failure(copying))).toBe(advice);
    expect(explained(failure({ code: 'ENOSPC', syscall: 'write' }))).toBe(advice);
    expect(explained(failure({ code: 'EDQUOT', syscall: 'write' }))).toBe(advice);
  });

  it('says that a folder cannot be written where the system says that it is not there', () => {
    const advice = 'the folder /cache cannot be written; choose another folder with --cache-dir';
    expect(explained(failure({ code: 'EROFS', syscall: 'open' }))).toBe(advice);
    const inMade = { code: 'ENOENT', syscall: 'mkdir', path: '/cache/gpu' };
    expect(explained(failure(inMade))).toBe(advice);
  });

  it('names the file otherwise', () => {
    const missing = { code: 'ENOENT', syscall: 'open', path: '/cache/file' };
    expect(explained(failure(missing))).toBe('cannot use /cache/file (ENOENT: some words)');
  });

  it('stays as it is when it is none', () => {
    const other = new Error('the index has no wheel');
    expect(explainDiskError(other, '/cache')).toBe(other);
  });
});
