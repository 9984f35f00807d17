import { join } from 'node:path';
import type { Host } from '../host.js';

/** What pip was told, and where: in a variable or a file. */
export interface PipSetting {
  readonly value: string;
  readonly source: string;
}

type Sections = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** The settings of `pip install`: `PIP_…` variables, then its config files. Empty ones are none. */
export function pipSettings(host: Host, home: string): (key: string) => PipSetting | undefined {
  const files = configFiles(host, home).map((path) => ({
    path,
    sections: readPipConfig(host.read(path) ?? ''),
  }));
  return (key) => {
    const variable = `PIP_${key.toUpperCase().replaceAll('-', '_')}`;
    const inFiles = ['install', 'global'].map((section) => {
      const file = files.findLast(({ sections }) => sections.get(section)?.has(key));
      return { value: file?.sections.get(section)?.get(key) ?? '', source: file?.path ?? '' };
    });
    const inVariable = { value: host.environment[variable] ?? '', source: variable };
    return [inVariable, ...inFiles].find(({ value }) => value !== '');
  };
}

/** Those that come later win, but the section of a command wins over `[global]` in all of them. */
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

/** What each section says, read as Python's `configparser` does. */
export function readPipConfig(text: string): Sections {
  const sections = new Map<string, Map<string, string>>();
  let section = new Map<string, string>();
  let key = '';
  let keyIndent = 0;
  for (const line of text.replace(BYTE_ORDER_MARK, '').split(/\r?\n/)) {
    const content = line.trim();
    if (content === '' || /^[#;]/.test(content)) continue;
    const indent = line.length - line.trimStart().length;
    // Whatever follows a heading is a comment.
    const heading = /^\[([^\]]+)\]/.exec(content)?.[1];
    const [, name, value = ''] = /^([^\s=:][^=:]*?)\s*[=:]\s*(.*)$/.exec(content) ?? [];
    if (key !== '' && indent > keyIndent) {
      section.set(key, `${section.get(key) ?? ''} ${content}`.trim());
    } else if (heading !== undefined) {
      section = sections.get(heading) ?? new Map<string, string>();
      sections.set(heading, section);
      key = '';
    } else if (name !== undefined) {
      key = name.toLowerCase().replaceAll('_', '-');
      keyIndent = indent;
      section.set(key, value);
    }
  }
  return sections;
}

/** Some editors begin files with it. */
const BYTE_ORDER_MARK = /^\uFEFF/;

function notEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
