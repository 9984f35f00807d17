import { type MarkerContext, markerHolds } from './marker.js';
import { normalizeName } from './package-name.js';
import { Specifier } from './specifier.js';

/** A line `Requires-Dist` of a wheel's metadata. */
export interface Requirement {
  /** Normalized. */
  readonly name: string;
  readonly specifier: Specifier;
  /** The condition after `;`, as written. */
  readonly marker: string;
}

/**
 * The requirements in a METADATA file on packages that matter. Only those are looked at further: the
 * others may have forms that are not understood here. Whatever follows the headers is a description.
 */
export function requirementsIn(
  metadata: string,
  matters: (name: string) => boolean,
): Requirement[] {
  const [headers = ''] = metadata.replaceAll('\r\n', '\n').split('\n\n', 1);
  return [...headers.matchAll(/^Requires-Dist:\s*(.+)$/gim)]
    .map(([, line = '']) => line)
    .filter((line) => matters(normalizeName(NAME.exec(line)?.[1] ?? '')))
    .map(parseRequirement);
}

const NAME = /^\s*([A-Za-z0-9][A-Za-z0-9._-]*)/;

export function parseRequirement(line: string): Requirement {
  const [body = '', ...conditions] = line.split(';');
  const [start = '', name = ''] = NAME.exec(body) ?? [];
  const match = /^\s*(?:\[[^\]]*\])?\s*\(?([^()]*)\)?\s*$/.exec(body.slice(start.length));
  if (name === '' || match === null) {
    throw new Error(`the requirement "${line.trim()}" is not understood`);
  }
  return {
    name: normalizeName(name),
    specifier: Specifier.parse(match[1] ?? ''),
    marker: conditions.join(';').trim(),
  };
}

/** @throws when its condition is not understood */
export function isWanted({ name, marker }: Requirement, context: MarkerContext): boolean {
  if (marker === '') return true;
  try {
    return markerHolds(marker, context);
  } catch (error) {
    throw new Error(`cannot tell whether ${name} is needed: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
