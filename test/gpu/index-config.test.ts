import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/config/load.js';
import { shownUrl, splitCredentials } from '../../src/gpu/net/address.js';
import { indexUrls, PYPI } from '../../src/gpu/wheels/index-config.js';
import { readPipConfig } from '../../src/gpu/wheels/pip-config.js';
import { fakeHost } from './fake-host.js';

const HOME = '/home/me';
const conf = (index: string): string => `[global]\nindex-url = ${index}\n`;

describe('the package index', () => {
  it('is PyPI where nothing else is said', () => {
    expect(indexUrls(fakeHost(), HOME)).toEqual([PYPI]);
  });

  it('is what pip would use: flags before variables before files, and of these the closest', () => {
    const files: Record<string, string> = {};
    const environment: Record<string, string> = {};
    const urls = (flags = {}) => indexUrls(fakeHost({ files, environment }), HOME, flags);
    files['/etc/pip.conf'] = conf('https://global/simple/');
    expect(urls()).toEqual(['https://global/simple']);
    files['/home/me/.config/pip/pip.conf'] = conf('https://user');
    expect(urls()).toEqual(['https://user']);
    environment['VIRTUAL_ENV'] = '/venv';
    files['/venv/pip.conf'] = conf('https://site');
    expect(urls()).toEqual(['https://site']);
    environment['PIP_CONFIG_FILE'] = '/my.conf';
    files['/my.conf'] = conf('https://own');
    expect(urls()).toEqual(['https://own']);
    environment['PIP_INDEX_URL'] = 'https://variable';
    environment['PIP_EXTRA_INDEX_URL'] = 'https://a https://b';
    expect(urls()).toEqual(['https://variable', 'https://a', 'https://b']);
    expect(urls({ indexUrl: 'https://flag', extraIndexUrls: [] })).toEqual(['https://flag']);
  });

  it('is not read from files where pip is told to read none', () => {
    const files = { '/etc/pip.conf': conf('https://global') };
    const environment = { PIP_CONFIG_FILE: '/dev/null' };
    expect(indexUrls(fakeHost({ files, environment }), HOME)).toEqual([PYPI]);
  });

  it('of the command wins over that of all commands, whichever file it stands in', () => {
    const files = {
      '/etc/pip.conf': '[install]\nindex-url = https://install\n[download]\nindex-url = https://x',
      '/home/me/.config/pip/pip.conf': conf('https://user'),
    };
    expect(indexUrls(fakeHost({ files }), HOME)).toEqual(['https://install']);
  });

  it('is not PyPI where pip is told to ask none, but may be named by a flag', () => {
    const files = {
      '/etc/pip.conf': '[global]\nno-index = true\nextra-index-url = https://more',
    };
    const urls = (environment: Record<string, string>, flags = {}) =>
      indexUrls(fakeHost({ files, environment }), HOME, flags);
    expect(() => urls({})).toThrow('/etc/pip.conf tells pip to ask no index');
    expect(() => urls({})).toThrow(ConfigError);
    expect(() => urls({ PIP_NO_INDEX: '1' })).toThrow(/^PIP_NO_INDEX tells pip/);
    expect(urls({ PIP_NO_INDEX: '0' })).toEqual([PYPI, 'https://more']);
    expect(urls({}, { indexUrl: 'https://flag' })).toEqual(['https://flag']);
  });

  it.each([
    ['mirror.example/simple', '"mirror.example/simple"'],
    ['file:///x', '"file:///x"'],
    ['ftp://me:secret@x', '"ftp://x"'],
    ['me:secret@mirror/simple', '"mirror/simple"'],
    ['https://me:se/cret@mirror/simple?token=secret', '"https://mirror/simple"'],
  ])('at %s is refused with where that stands, and no password', (url, shown) => {
    const refusal = (files: Record<string, string>, environment = {}, flags = {}): unknown => {
      try {
        return indexUrls(fakeHost({ files, environment }), HOME, flags);
      } catch (error) {
        return error;
      }
    };
    for (const [error, source] of [
      [refusal({}, {}, { indexUrl: url }), '--index-url'],
      [refusal({}, {}, { extraIndexUrls: ['https://a', url] }), '--extra-index-url'],
      [refusal({}, { PIP_INDEX_URL: url }), 'PIP_INDEX_URL'],
      [refusal({}, { PIP_EXTRA_INDEX_URL: `https://a ${url}` }), 'PIP_EXTRA_INDEX_URL'],
      [refusal({ '/etc/pip.conf': conf(url) }), '/etc/pip.conf'],
    ] as const) {
      expect(error).toBeInstanceOf(ConfigError);
      expect((error as Error).message).toBe(
        `the address of an index in ${source} must be https://… or http://…, not ${shown}`,
      );
    }
  });
});

describe('a config file of pip', () => {
  it('has sections, comments, two spellings and values over several lines', () => {
    const text = `# mine
[global]
timeout: 60
index_url = https://a
extra-index-url =
    https://b   ; not a comment to pip
    https://c

[download]
index-url = https://not-this
[install]
; of this command
index-url = https://d
`;
    const config = readPipConfig(text);
    expect(config.get('global')?.get('timeout')).toBe('60');
    expect(config.get('global')?.get('index-url')).toBe('https://a');
    expect(config.get('install')?.get('index-url')).toBe('https://d');
    expect(config.get('global')?.get('extra-index-url')).toBe(
      'https://b   ; not a comment to pip https://c',
    );
  });

  it.each([
    ['a mark of the byte order', '\uFEFF[global]\nindex-url = https://a'],
    ['a comment behind a heading', '[global] ; mine\nindex-url = https://a'],
    ['lines that are indented alike', '[global]\n  timeout = 5\n  index-url = https://a'],
  ])('may have %s', (_, text) => {
    expect(readPipConfig(text).get('global')?.get('index-url')).toBe('https://a');
  });

  it('that makes no sense gives nothing', () => {
    expect(readPipConfig('\0\u0001 [[[ = \n = \n  x\nindex-url').size).toBe(0);
  });
});

describe('credentials in an address', () => {
  it('are sent as a header and never shown', () => {
    const url = 'https://me:p%40ss@mirror.example/simple/x/?token=abc';
    expect(splitCredentials(url)).toEqual({
      url: 'https://mirror.example/simple/x/?token=abc',
      authorization: `Basic ${Buffer.from('me:p@ss').toString('base64')}`,
    });
    expect(shownUrl(url)).toBe('https://mirror.example/simple/x/');
    expect(shownUrl('https://me:secret@/x y')).not.toContain('secret');
  });

  it('may have a % that is no escape', () => {
    const sent = (url: string): string =>
      Buffer.from(splitCredentials(url).authorization?.slice(6) ?? '', 'base64').toString();
    expect(sent('http://me:50%off@mirror')).toBe('me:50%off');
    expect(sent('http://me:%ff%c3%bc%@mirror')).toBe('me:%ff%c3%bc%');
    expect(sent('http://me:%c3%bc%25@mirror')).toBe('me:ü%');
  });
});
