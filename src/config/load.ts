import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isIP } from 'node:net';
import { extname } from 'node:path';
import { Compile } from 'typebox/compile';
import type { Environment } from './environment.js';
import { OPTIONS, parseOption } from './options.js';
import { type Config, ConfigSchema } from './schema.js';

/** A setting that the operator must correct; the message is one line for a person. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

export interface ConfigSources {
  readonly environment: Environment;
  /** Values of flags, by config key. */
  readonly flags: Readonly<Record<string, string | boolean>>;
  /** From `--config`; otherwise one of the usual names is looked for. */
  readonly file?: string;
}

type Layer = Readonly<Record<string, unknown>>;

const FILE_NAMES = ['shoal.config.json', 'shoal.config.yaml', 'shoal.config.yml'];
const validator = Compile(ConfigSchema);

/** Defaults < file < environment < flags; checked and frozen. */
export function loadConfig(sources: ConfigSources): Config {
  const file = sources.file ?? sources.environment['SHOAL_CONFIG'] ?? FILE_NAMES.find(existsSync);
  const layers: readonly (readonly [string, Layer])[] = [
    ['', Object.fromEntries(OPTIONS.map((option) => [option.key, option.default]))],
    [file ?? '', file === undefined ? {} : readFile(file)],
    ['the environment', fromEnvironment(sources.environment)],
    ['the command line', fromFlags(sources.flags)],
  ];
  const merged: Record<string, unknown> = {};
  for (const [source, layer] of layers) {
    for (const [key, value] of Object.entries(layer)) {
      if (!OPTIONS.some((option) => option.key === key)) throw unknownKey(key, source);
      merged[key] = value;
    }
  }
  if (!validator.Check(merged)) throw firstError(merged, layers);
  const config = merged as unknown as Config;
  checkRelations(config);
  return Object.freeze(config);
}

function readFile(path: string): Layer {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigError(`cannot read the config file ${path}: ${(error as Error).message}`);
  }
  try {
    const value: unknown = extname(path) === '.json' ? JSON.parse(text) : parseYaml(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Layer;
  } catch (error) {
    const [firstLine] = (error as Error).message.split('\n');
    throw new ConfigError(`${path} is not valid: ${firstLine ?? ''}`);
  }
  throw new ConfigError(`${path} must hold an object of settings`);
}

/** Loaded only when there is a YAML file. */
function parseYaml(text: string): unknown {
  const require = createRequire(import.meta.url);
  return (require('yaml') as typeof import('yaml')).parse(text);
}

function fromEnvironment(environment: Environment): Layer {
  const layer: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(environment)) {
    if (!name.startsWith('SHOAL_') || text === undefined || name === 'SHOAL_CONFIG') continue;
    if (isKubernetesLink(name, text)) continue;
    const option = OPTIONS.find(({ env, isFileOnly }) => env === name && !isFileOnly);
    if (option === undefined) throw unknownKey(name, 'the environment');
    layer[option.key] = parseOption(option, text);
  }
  return layer;
}

/**
 * A Kubernetes service called "shoal" gives every pod SHOAL_PORT=tcp://… and its relatives, and one
 * called "shoal-redis" SHOAL_REDIS_PORT=tcp://…
 */
function isKubernetesLink(name: string, text: string): boolean {
  if (/^SHOAL_(\w+_)?(SERVICE_(HOST|PORT)|PORT_\d)/.test(name)) return true;
  return name.endsWith('_PORT') && text.includes('://');
}

function fromFlags(flags: ConfigSources['flags']): Layer {
  const layer: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(flags)) {
    const option = OPTIONS.find((candidate) => candidate.key === key);
    if (option === undefined) throw unknownKey(key, 'the command line');
    layer[key] = typeof value === 'boolean' ? value : parseOption(option, value);
  }
  return layer;
}

function unknownKey(key: string, source: string): ConfigError {
  const names = OPTIONS.map((option) => (key.startsWith('SHOAL_') ? option.env : option.key));
  const close = closestTo(key, names);
  const hint = close === undefined ? '' : `; did you mean "${close}"?`;
  return new ConfigError(`unknown setting "${key}" in ${source}${hint}`);
}

/** For "did you mean": the name that differs by two letters at most. */
export function closestTo(name: string, names: readonly string[]): string | undefined {
  return names.find((known) => distance(known.toLowerCase(), name.toLowerCase()) <= 2);
}

function firstError(merged: Layer, layers: readonly (readonly [string, Layer])[]): ConfigError {
  const errors = validator.Errors(merged);
  const [{ instancePath, message } = { instancePath: '', message: 'is not valid' }] = errors;
  const parts = instancePath.split('/').slice(1);
  const [key = ''] = parts;
  const source = layers.findLast(([, layer]) => key in layer)?.[0] ?? '';
  const option = OPTIONS.find((candidate) => candidate.key === key);
  const path = parts.join('.');
  if (message === 'schema is false') return unknownKey(path, source);
  const expected =
    option === undefined || parts.length > 1 ? message : `must be ${option.placeholder}`;
  if (option?.key === 'api_keys' || parts.at(-1) === 'api_key') {
    return new ConfigError(`every API key must have at least 8 characters (from ${source})`);
  }
  if (option?.key === 'webhook_secrets' || parts.at(-1) === 'webhook_secret') {
    return new ConfigError(
      `a webhook secret is "whsec_" and at least 24 bytes as base64 (from ${source})`,
    );
  }
  if (option?.key === 'queue') {
    return new ConfigError(`"queue" must be embedded, off or redis://… (from ${source})`);
  }
  // Only a single value is shown: what holds it may hold an API key as well.
  const value = parts.reduce<unknown>((part, name) => (part as Layer | undefined)?.[name], merged);
  const got = typeof value === 'object' ? '' : `, got ${JSON.stringify(value)}`;
  return new ConfigError(`"${path}" ${expected}${got} (from ${source})`);
}

function checkRelations(config: Config): void {
  const hasKeys = config.api_keys.length + config.tenants.length > 0;
  if (!hasKeys && !config.insecure && !isLoopback(config.host)) {
    throw new ConfigError(
      `listening on ${config.host} lets anyone use this server: set api_keys (SHOAL_API_KEYS), or say --insecure`,
    );
  }
  const names = config.tenants.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new ConfigError(`two tenants are called "${twice}"`);
  const keys = [...config.api_keys, ...config.tenants.map(({ api_key }) => api_key)];
  if (new Set(keys).size < keys.length) throw new ConfigError('an API key is there twice');
  if (config.max_image_bytes > config.max_inflight_bytes / 2) {
    throw new ConfigError('"max_inflight_bytes" must be at least twice "max_image_bytes"');
  }
}

export function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
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
