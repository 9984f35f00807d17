import { describe, expect, it } from 'vitest';
import { shownUrl, splitCredentials } from '../../src/gpu/net/address.js';
import { indexUrls, PYPI, readPipConfig } from '../../src/gpu/wheels/index-config.js';
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
    expect(config.get('timeout')).toBe('60');
    expect(config.get('index-url')).toBe('https://d');
    expect(config.get('extra-index-url')).toBe('https://b   ; not a comment to pip https://c');
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
});
