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

  it('explains every word of the glossary once, and these among them', () => {
    const text = readFileSync('docs/architecture.md', 'utf8');
    const glossary = text.slice(text.indexOf('## Words'), text.indexOf('## Guards'));
    const words = [...glossary.matchAll(/^- \*\*(\w+)\*\* \S/gm)].map(([, word]) => word);
    expect(new Set(words).size).toBe(words.length);
    expect(words).toHaveLength(glossary.match(/^- /gm)?.length ?? 0);
    expect(words).toEqual(
      expect.arrayContaining([
        ...['item', 'batch', 'engine', 'lane', 'helper', 'session', 'head', 'front', 'intake'],
        ...['profile', 'plan', 'window', 'deadline', 'limit', 'job', 'claim', 'tenant', 'probe'],
      ]),
    );
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
