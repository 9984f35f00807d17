import { OPTIONS, type Option } from './options.js';
import { ConfigSchema } from './schema.js';

/** A setting that the operator must correct; the message is one line for a person. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** What was set, and where: a file, the environment, the command line. */
export type Layer = Readonly<Record<string, unknown>>;
export type Layers = readonly (readonly [string, Layer])[];

const SECRETS = ['api_keys', 'webhook_secrets', 'api_key', 'webhook_secret'];

export function unknownKey(key: string, source: string): ConfigError {
  const names = OPTIONS.map((option) => (key.startsWith('SHOAL_') ? option.env : option.key));
  return unknown(key, closestTo(key, names), source);
}

export function fileOnly({ key }: Option, written: string): ConfigError {
  return new ConfigError(`"${key}" stands in the config file only, there is no ${written}`);
}

function unknown(key: string, close: string | undefined, source: string): ConfigError {
  const hint = close === undefined ? '' : `; did you mean "${close}"?`;
  return new ConfigError(`unknown setting "${key}" in ${source}${hint}`);
}

/** One line about the first thing that the schema does not allow. */
export function schemaError(
  { instancePath, message }: { readonly instancePath: string; readonly message: string },
  merged: Layer,
  layers: Layers,
): ConfigError {
  const parts = instancePath.split('/').slice(1);
  const [key = ''] = parts;
  const source = layers.findLast(([, layer]) => key in layer)?.[0] ?? '';
  const path = parts.join('.');
  if (message === 'schema is false') {
    return unknown(path, closestTo(parts.at(-1) ?? '', namesIn(key)), source);
  }
  const value = parts.reduce<unknown>((part, name) => (part as Layer | undefined)?.[name], merged);
  const option = OPTIONS.find((candidate) => candidate.key === key);
  const expected =
    expectedOf(parts, value) ??
    (option === undefined || parts.length > 1 ? message : `must be ${option.placeholder}`);
  // Only a single value is shown: what holds it may hold an API key as well.
  const isShown = typeof value !== 'object' && !parts.some((part) => SECRETS.includes(part));
  const got = isShown && key !== 'queue' ? `, got ${JSON.stringify(value)}` : '';
  return new ConfigError(`"${path}" ${expected}${got} (from ${source})`);
}

/** What can be said better than by the schema. */
function expectedOf(parts: readonly string[], value: unknown): string | undefined {
  const [key = ''] = parts;
  const last = parts.length === 1 ? undefined : parts.at(-1);
  const option = OPTIONS.find((candidate) => candidate.key === key);
  if (option?.kind === 'list' && last === undefined) {
    return `must be a list of ${option.isFileOnly ? 'objects' : 'texts'}`;
  }
  if (key === 'queue') return 'must be embedded, off or redis://…';
  const isSecret = SECRETS.includes(key) || SECRETS.includes(last ?? '');
  if (isSecret && typeof value !== 'string') return 'must be a text; write it in quotes';
  if (key === 'api_keys' || last === 'api_key') {
    return 'is too short: every API key must have at least 8 characters';
  }
  if (isSecret) return 'is no webhook secret: "whsec_" and at least 24 bytes as base64';
  return undefined;
}

/** What the objects in a list may hold. */
function namesIn(key: string): readonly string[] {
  const lists = ConfigSchema.properties as unknown as Readonly<
    Record<string, { readonly items?: { readonly properties?: object } } | undefined>
  >;
  return Object.keys(lists[key]?.items?.properties ?? {});
}

/** For "did you mean": the nearest name, which differs by two letters at most. */
export function closestTo(name: string, names: readonly string[]): string | undefined {
  const [closest] = names
    .map((known) => ({ known, off: distance(known.toLowerCase(), name.toLowerCase()) }))
    .filter(({ off }) => off <= 2)
    .sort((a, b) => a.off - b.off);
  return closest?.known;
}

/** Levenshtein distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replace, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
