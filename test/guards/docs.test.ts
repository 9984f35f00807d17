import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ERRORS } from '../../src/errors.js';
import * as shoal from '../../src/index.js';
import { REFERENCE_PAGES } from '../../tools/docs/reference.js';

describe('the documentation', () => {
  it.each(Object.entries(REFERENCE_PAGES))(
    '%s is what the code says (npm run docs)',
    (path, page) => {
      expect(readFileSync(path, 'utf8')).toBe(page());
    },
  );

  it('docs/errors.md lists every error code with its status, and no other', () => {
    const text = readFileSync('docs/errors.md', 'utf8');
    const listed = [...text.matchAll(/^\| `(\w+)` \| (\d+) \|/gm)].map(([, code, status]) => [
      code,
      Number(status),
    ]);
    expect(listed).toEqual(Object.entries(ERRORS).map(([code, { status }]) => [code, status]));
  });

  it('names every word of the glossary once', () => {
    const text = readFileSync('docs/architecture.md', 'utf8');
    const words = [
      'item',
      'batch',
      'engine',
      'lane',
      'session',
      'head',
      'plan',
      'window',
      'deadline',
      'limit',
    ];
    for (const word of words) expect(text).toMatch(new RegExp(`^- \\*\\*${word}\\*\\*`, 'm'));
  });
});

describe('the public interface', () => {
  it('exports these names and no others', () => {
    expect(Object.keys(shoal).sort()).toEqual([
      'ConfigError',
      'createLog',
      'loadConfig',
      'startServer',
    ]);
  });
});
