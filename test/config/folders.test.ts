import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cacheFolderFor, defaultDataFolder, homeFolder } from '../../src/config/environment.js';

const at = (home: string | undefined) => () => home;
const unasked = () => {
  throw new Error('nobody asked for it');
};

describe('the folders of a user', () => {
  it('lie in the home folder, unless something else is set', () => {
    expect(cacheFolderFor('', {}, at('/home/me'))).toBe(resolve('/home/me/.cache/shoal'));
    expect(defaultDataFolder({}, at('/home/me'))).toBe(resolve('/home/me/.local/share/shoal'));
  });

  it('need no home folder where they are set', () => {
    expect(cacheFolderFor('/cache', {}, unasked)).toBe(resolve('/cache'));
    const xdg = { XDG_CACHE_HOME: '/xdg', XDG_DATA_HOME: '/data' };
    expect(cacheFolderFor('', xdg, unasked)).toBe(resolve('/xdg/shoal'));
    expect(defaultDataFolder(xdg, unasked)).toBe(resolve('/data/shoal'));
    expect(cacheFolderFor('', { LOCALAPPDATA: '/local' }, unasked)).toBe(resolve('/local/shoal'));
  });

  it('are absolute in any case', () => {
    for (const environment of [{ XDG_CACHE_HOME: 'here' }, { LOCALAPPDATA: 'here' }]) {
      expect(cacheFolderFor('', environment, unasked)).toBe(resolve('here/shoal'));
    }
    expect(cacheFolderFor('', {}, at('here'))).toBe(resolve('here/.cache/shoal'));
  });

  it('must be set where the user has no home', () => {
    expect(() => cacheFolderFor('', {}, at(undefined))).toThrow(
      'this user has no home folder; set cache_dir (SHOAL_CACHE_DIR)',
    );
    expect(() => defaultDataFolder({}, at(undefined))).toThrow(/data_dir \(SHOAL_DATA_DIR\)/);
  });
});

describe('the home folder', () => {
  it('is the first that is known and not empty', () => {
    expect(homeFolder([() => '', () => '/home/me'])).toBe('/home/me');
    expect(homeFolder([unasked, () => '/home/me'])).toBe('/home/me');
    expect(homeFolder([unasked, () => ''])).toBeUndefined();
  });
});
