import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Lock, neededPackages } from '../../../bench/gpu/packages.js';

const on = (...names: string[]) => ({
  dependencies: Object.fromEntries(names.map((name) => [name, '*'])),
});

describe('needed packages', () => {
  const lock: Lock = {
    packages: {
      '': on('a', 'heavy'),
      'node_modules/a': on('b', '@s/c'),
      'node_modules/a/node_modules/b': on('d'),
      'node_modules/b': {},
      'node_modules/@s/c': { optionalDependencies: { b: '*', missing: '*' } },
      'node_modules/d': on('a'),
      'node_modules/heavy': on('e'),
      'node_modules/e': {},
      'node_modules/unused': {},
    },
  };

  it('are found as Node finds them, nested ones first', () => {
    expect(neededPackages(lock, [])).toEqual([
      'node_modules/@s/c',
      'node_modules/a',
      'node_modules/a/node_modules/b',
      'node_modules/b',
      'node_modules/d',
      'node_modules/e',
      'node_modules/heavy',
    ]);
  });

  it('leave out what is not wanted, with what only that needs', () => {
    const found = neededPackages(lock, ['heavy']);
    expect(found).not.toContain('node_modules/heavy');
    expect(found).not.toContain('node_modules/e');
  });

  it('have no development tools in them', () => {
    const own = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock & {
      packages: Record<string, { dev?: boolean }>;
    };
    const found = neededPackages(own, []);
    expect(found).toContain('node_modules/onnxruntime-node');
    expect(found.filter((path) => own.packages[path]?.dev === true)).toEqual([]);
  });
});
