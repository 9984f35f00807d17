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
