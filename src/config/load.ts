import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isIP } from 'node:net';
import { dirname, extname, resolve } from 'node:path';
import { Compile } from 'typebox/compile';
import type { Environment } from './environment.js';
import { OPTIONS, parseOption } from './options.js';
import {
  ConfigError,
  fileOnly,
  type Layer,
  type Layers,
  schemaError,
  unknownKey,
} from './problems.js';
import { type Config, ConfigSchema } from './schema.js';

export { closestTo, ConfigError } from './problems.js';

export interface ConfigSources {
  readonly environment: Environment;
  /** Values of flags, by config key. */
  readonly flags: Readonly<Record<string, string | boolean>>;
  /** From `--config`; otherwise one of the usual names is looked for. */
  readonly file?: string;
}

const FILE_NAMES = ['shoal.config.json', 'shoal.config.yaml', 'shoal.config.yml'];
const validator = Compile(ConfigSchema);

/** Defaults < file < environment < flags; checked and frozen. */
export function loadConfig(sources: ConfigSources): Config {
  const file = sources.file ?? sources.environment['SHOAL_CONFIG'] ?? FILE_NAMES.find(existsSync);
  const layers: Layers = [
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
  if (!validator.Check(merged)) {
    const [first = { instancePath: '', message: 'is not valid' }] = validator.Errors(merged);
    throw schemaError(first, merged, layers);
  }
  const config = withPathsFrom(dirname(file ?? ''), merged);
  checkRelations(config);
  return Object.freeze(config);
}

/** Paths in a file start where the file is, wherever the server was started. */
function withPathsFrom(folder: string, config: Config): Config {
  const models = config.models.map((entry) => ({ ...entry, path: resolve(folder, entry.path) }));
  return { ...config, models };
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
    const option = OPTIONS.find(({ env }) => env === name);
    if (option === undefined) throw unknownKey(name, 'the environment');
    if (option.isFileOnly) throw fileOnly(option, name);
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
