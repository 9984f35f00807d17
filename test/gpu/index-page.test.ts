import { describe, expect, it } from 'vitest';
import { type IndexFile, parseHtmlPage, parseJsonPage } from '../../src/gpu/wheels/index-page.js';
import { newestWheel } from '../../src/gpu/wheels/package-index.js';
import { Specifier } from '../../src/gpu/wheels/specifier.js';

const PAGE = 'https://index.example/simple/x/';
const HASH = 'ab'.repeat(32);

describe('a page of an index', () => {
  it('means the same as JSON and as HTML', () => {
    const json = JSON.stringify({
      files: [
        {
          filename: 'x-1.0-py3-none-any.whl',
          url: '../../files/x-1.0-py3-none-any.whl',
          hashes: { sha256: HASH },
          'core-metadata': { sha256: 'cd' },
        },
        { filename: 'x-2.0.tar.gz', url: '/x-2.0.tar.gz', hashes: {}, yanked: 'broken' },
      ],
    });
    const html = `<html><body><h1>x</h1>
      <a href="../../files/x-1.0-py3-none-any.whl#sha256=${HASH.toUpperCase()}"
         data-requires-python="&gt;=3" data-core-metadata="sha256=cd">x</a>
      <A HREF='/x-2.0.tar.gz' data-yanked="broken">x</A>
      <a name="top">no link</a> <a href="mailto:someone@index.example">mail</a>
      <a href="javascript:void(0)">script</a></body></html>`;
    const expected = [
      {
        filename: 'x-1.0-py3-none-any.whl',
        url: 'https://index.example/files/x-1.0-py3-none-any.whl',
        sha256: HASH,
        bytes: undefined,
        isYanked: false,
        hasMetadata: true,
      },
      {
        filename: 'x-2.0.tar.gz',
        url: 'https://index.example/x-2.0.tar.gz',
        sha256: '',
        bytes: undefined,
        isYanked: true,
        hasMetadata: false,
      },
    ];
    expect(parseJsonPage(json, PAGE)).toEqual(expected);
    expect(parseHtmlPage(html, PAGE).slice(0, 2)).toEqual(expected);
  });

  it('may have another base and characters that are escaped', () => {
    const html = `<base href="https://files.example/a/"><a href="b&#x2F;x-1%2Blocal.whl?k=1&amp;l=2">x</a>`;
    expect(parseHtmlPage(html, PAGE)).toMatchObject([
      { url: 'https://files.example/a/b/x-1%2Blocal.whl?k=1&l=2', filename: 'x-1+local.whl' },
    ]);
  });

  it('of an unknown form is refused', () => {
    const page = 'https://me:secret@index.example/simple/x/?token=secret';
    expect(() => parseJsonPage('{"files": {}}', page)).toThrow(
      'https://index.example/simple/x/ has a list of files of an unknown form',
    );
    expect(() => parseJsonPage('<html>', page)).toThrow(
      'https://index.example/simple/x/ is not the JSON that it claims to be',
    );
  });

  it('may have files that are not described as they should be', () => {
    const url = 'x-1.0-py3-none-any.whl';
    const hashes = { sha256: HASH };
    const files = [{ url, hashes, size: null }, { url }, {}, null, { url, hashes, size: 5 }];
    expect(parseJsonPage(JSON.stringify({ files }), PAGE)).toMatchObject([
      { filename: url, sha256: HASH, bytes: undefined },
      { filename: url, sha256: HASH, bytes: 5 },
    ]);
  });

  it('may have any characters in the attributes of links', () => {
    const html = `<p title="<a href='no-1.whl'>">
      <a data-requires-python=">=3.8" href="a-1.whl#sha256=${HASH}">a</a>
      <a href='b-1.whl' data-requires-python='>=3.8,"<4"' data-yanked>b</a>
      <a
        href=c-1.whl#egg=c&amp;sha256=${HASH} rel = internal>c</a>
      <abbr href="no-2.whl">d</abbr><a href="e-1.whl"/><a class="x"href="f-1.whl">`;
    const files = parseHtmlPage(html, PAGE);
    expect(
      files.map(({ filename, sha256, isYanked }) => [filename, sha256 === HASH, isYanked]),
    ).toEqual([
      ['a-1.whl', true, false],
      ['b-1.whl', false, true],
      ['c-1.whl', true, false],
      ['e-1.whl', false, false],
      ['f-1.whl', false, false],
    ]);
  });

  it('has no links in comments', () => {
    const html = `<!-- <a href="a-1.whl">a</a> --><a href="b-1.whl">b</a><!--><a href="c-1.whl">c</a>
      <!-- <a href="d-1.whl">d</a>`;
    expect(parseHtmlPage(html, PAGE).map(({ filename }) => filename)).toEqual([
      'b-1.whl',
      'c-1.whl',
    ]);
  });

  it.each(['<a ', '<a href="', "<a href='x' b=", '<!--', '<a =', '<a x  ', '<', '<a href=#&'])(
    'is read in one go, even if it is %j again and again',
    (piece) => {
      expect(parseHtmlPage(piece.repeat(500_000), PAGE).length).toBeLessThan(10);
    },
  );

  it('never gives a file a name that leads elsewhere', () => {
    for (const href of ['..%2f..%2fetc', 'x%00.whl', '%2e%2e', 'a b.whl', '']) {
      const files = parseHtmlPage(`<a href="https://files.example/${href}">x</a>`, PAGE);
      for (const { filename } of files) expect(filename).toMatch(/^[\w+!-][\w.+!-]*$/);
    }
  });
});

describe('the newest wheel', () => {
  const file = (version: string, rest: Partial<IndexFile> = {}, tag = 'manylinux_2_17_x86_64') => {
    const filename = `x-${version}-py3-none-${tag}.whl`;
    const url = `https://files.example/${filename}`;
    const base = { bytes: undefined, isYanked: false, hasMetadata: false };
    return { ...base, filename, url, sha256: HASH, ...rest };
  };
  const platform = { arch: 'x64', glibc: '2.31' } as const;
  const newest = (files: IndexFile[], ...wanted: string[]) =>
    newestWheel(
      'x',
      files,
      wanted.map((text) => Specifier.parse(text)),
      platform,
    ).version;

  it('is the highest stable version that all accept', () => {
    const files = ['1.9', '1.10', '2.0', '1.11rc1', '1.12.dev1'].map((version) => file(version));
    expect(newest(files)).toBe('2.0');
    expect(newest(files, '~=1.0', '!=1.9')).toBe('1.10');
  });

  it('is one that was withdrawn only if that very one is asked for', () => {
    const files = [file('1.0'), file('2.0', { isYanked: true })];
    expect(newest(files)).toBe('1.0');
    expect(newest(files, '==2.0')).toBe('2.0');
    const builds = [file('1.0-1', { isYanked: true }), file('1.0-2')];
    for (const order of [builds, [...builds].reverse()]) {
      const { filename } = newestWheel('x', order, [Specifier.parse('==1.0')], platform).file;
      expect(filename).toContain('x-1.0-2-');
    }
  });

  it('is always the same file of several that fit', () => {
    const files = ['cp312', 'cp311', 'cp314'].map((python) => ({
      ...file('1.0'),
      filename: `x-1.0-${python}-${python}-manylinux_2_17_x86_64.whl`,
    }));
    for (const order of [files, [...files].reverse()]) {
      expect(newestWheel('x', order, [], platform).file.filename).toContain('cp311');
    }
  });

  it('is older where the newest is for another machine', () => {
    const files = [
      file('2.0', {}, 'win_amd64'),
      file('2.1', {}, 'manylinux_2_34_x86_64'),
      file('1.0'),
    ];
    expect(newest(files)).toBe('1.0');
  });

  it('is missing for a reason that is said', () => {
    expect(() => newest([file('1.0')], '==3.0')).toThrow('the index has no wheel of x ==3.0');
    expect(() => newest([file('1.0', {}, 'win_amd64')])).toThrow(/for Linux on x64/);
    expect(() => newest([file('1.0', {}, 'manylinux_2_34_x86_64')])).toThrow(
      /needs glibc 2\.34; this system has 2\.31/,
    );
    expect(() => newest([file('1.0', { sha256: '' })])).toThrow(/no SHA-256/);
  });
});
