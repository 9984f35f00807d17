import { Specifier } from './specifier.js';

/** A line `Requires-Dist` of a wheel's metadata. */
export interface Requirement {
  /** Normalized. */
  readonly name: string;
  readonly specifier: Specifier;
  /** The condition after `;`, as written. */
  readonly marker: string;
}

/** What markers can ask about. */
export interface MarkerContext {
  readonly extra: string;
  readonly arch: string;
}

export function normalizeName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.]+/g, '-');
}

/** The requirements in a METADATA file. Whatever follows the headers is a description. */
export function requirementsIn(metadata: string): Requirement[] {
  const [headers = ''] = metadata.replaceAll('\r\n', '\n').split('\n\n', 1);
  return [...headers.matchAll(/^Requires-Dist:\s*(.+)$/gim)].map(([, line = '']) =>
    parseRequirement(line),
  );
}

export function parseRequirement(line: string): Requirement {
  const [body = '', ...conditions] = line.split(';');
  const match = /^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*\(?([^()]*)\)?\s*$/.exec(
    body,
  );
  if (match === null) throw new Error(`the requirement "${line.trim()}" is not understood`);
  const [, name = '', versions = ''] = match;
  return {
    name: normalizeName(name),
    specifier: Specifier.parse(versions),
    marker: conditions.join(';').trim(),
  };
}

/**
 * Whether a requirement counts: comparisons joined by `and` and `or`. Python's version is left out
 * of account, since no Python is used; so is a comparison with anything unknown.
 */
export function isWanted({ marker }: Requirement, { extra, arch }: MarkerContext): boolean {
  if (marker === '') return true;
  const machine = arch === 'arm64' ? 'aarch64' : 'x86_64';
  const values: Readonly<Record<string, string>> = {
    extra,
    platform_machine: machine,
    platform_system: 'Linux',
    sys_platform: 'linux',
    os_name: 'posix',
  };
  const holds = (comparison: string): boolean => {
    const match = /^\(*\s*(\w+)\s*(==|!=)\s*["']([^"']*)["']\s*\)*$/.exec(comparison.trim());
    const [, variable = '', operator = '', value = ''] = match ?? [];
    const actual = Object.hasOwn(values, variable) ? values[variable] : undefined;
    return actual === undefined || (actual === value) === (operator === '==');
  };
  return marker
    .split(/\s+or\s+/)
    .some((all) => all.split(/\s+and\s+/).every((comparison) => holds(comparison)));
}
