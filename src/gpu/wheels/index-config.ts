import { join } from 'node:path';
import type { Host } from '../host.js';

export const PYPI = 'https://pypi.org/simple';

export interface IndexFlags {
  readonly indexUrl?: string | undefined;
  readonly extraIndexUrls?: readonly string[] | undefined;
}

/**
 * The indexes that pip would ask, found in the same places: flags, then `PIP_…` variables, then
 * its config files. So whoever has set up a mirror for pip has set it up for this, too.
 */
export function indexUrls(host: Host, home: string, flags: IndexFlags = {}): string[] {
  const { PIP_INDEX_URL: index, PIP_EXTRA_INDEX_URL: extra } = host.environment;
  const files = configFiles(host, home).map((path) => readPipConfig(host.read(path) ?? ''));
  const inFiles = (key: string): string | undefined =>
    files.map((file) => file.get(key)).findLast((value) => value !== undefined);
  const main = flags.indexUrl ?? notEmpty(index) ?? notEmpty(inFiles('index-url')) ?? PYPI;
  const more = flags.extraIndexUrls ?? words(notEmpty(extra) ?? inFiles('extra-index-url') ?? '');
  return [...new Set([main, ...more].map((url) => url.trim().replace(/\/+$/, '')))];
}

/** Those that come later win. */
function configFiles(host: Host, home: string): string[] {
  const {
    PIP_CONFIG_FILE: own,
    XDG_CONFIG_DIRS: dirs,
    XDG_CONFIG_HOME: xdg,
    VIRTUAL_ENV: venv,
  } = host.environment;
  // That is how pip is told to read none.
  if (own === '/dev/null') return [];
  const everyone = [
    ...(notEmpty(dirs) ?? '/etc/xdg').split(':').map((dir) => join(dir, 'pip', 'pip.conf')),
    '/etc/pip.conf',
  ];
  const user = [
    join(home, '.pip', 'pip.conf'),
    join(notEmpty(xdg) ?? join(home, '.config'), 'pip', 'pip.conf'),
  ];
  const site = notEmpty(venv) === undefined ? [] : [join(venv ?? '', 'pip.conf')];
  if (own !== undefined && own !== '' && host.exists(own)) return [...everyone, ...site, own];
  return [...everyone, ...user, ...site];
}

/** The keys of `[global]`, and of `[install]` over them. */
export function readPipConfig(text: string): ReadonlyMap<string, string> {
  const sections = new Map<string, Map<string, string>>();
  let section = new Map<string, string>();
  let key = '';
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*([#;]|$)/.test(line)) continue;
    const heading = /^\[(.+)\]\s*$/.exec(line)?.[1];
    const [, name, value = ''] = /^([^\s=:][^=:]*?)\s*[=:]\s*(.*)$/.exec(line) ?? [];
    if (heading !== undefined) {
      section = sections.get(heading) ?? new Map<string, string>();
      sections.set(heading, section);
      key = '';
    } else if (/^\s/.test(line) && key !== '') {
      section.set(key, `${section.get(key) ?? ''} ${line.trim()}`.trim());
    } else if (name !== undefined) {
      key = name.toLowerCase().replaceAll('_', '-');
      section.set(key, value.trim());
    }
  }
  return new Map([...(sections.get('global') ?? []), ...(sections.get('install') ?? [])]);
}

function words(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

function notEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
