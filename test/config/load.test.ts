import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { closestTo, ConfigError, isLoopback, loadConfig } from '../../src/config/load.js';
import type { Config } from '../../src/config/schema.js';

const folder = mkdtempSync(join(tmpdir(), 'shoal-config-'));
function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}
const load = (sources: Partial<Parameters<typeof loadConfig>[0]>): Config =>
  loadConfig({ environment: {}, flags: {}, ...sources });

describe('loadConfig', () => {
  it('has safe defaults and is frozen', () => {
    const config = load({});
    expect(config).toMatchObject({ host: '127.0.0.1', port: 8000, window_ms: 10, api_keys: [] });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('lets flags win over the environment, that over the file, that over defaults', () => {
    const path = file('a.json', '{"port": 1, "max_queue": 2, "max_batch": 3}');
    const environment = { SHOAL_PORT: '10', SHOAL_MAX_QUEUE: '20' };
    const config = load({ file: path, environment, flags: { port: '100' } });
    expect([config.port, config.max_queue, config.max_batch, config.window_ms]).toEqual([
      100, 20, 3, 10,
    ]);
  });

  it('reads YAML, lists and switches', () => {
    const path = file('b.yaml', 'models:\n  - path: x\n    sessions: 2\ninsecure: true\n');
    const config = load({
      file: path,
      environment: { SHOAL_API_KEYS: 'longenough1, longenough2' },
    });
    expect(config.models).toEqual([{ path: join(folder, 'x'), sessions: 2 }]);
    expect(config.insecure).toBe(true);
    expect(config.api_keys).toEqual(['longenough1', 'longenough2']);
    expect(load({ flags: { insecure: true, host: '0.0.0.0' } }).host).toBe('0.0.0.0');
  });

  it.each<[string, Partial<Parameters<typeof loadConfig>[0]>, string]>([
    ['an unknown flag key', { flags: { prot: '1' } }, 'did you mean "port"?'],
    ['an unknown variable', { environment: { SHOAL_PROT: '1' } }, 'did you mean "SHOAL_PORT"?'],
    [
      'a GPU that is no number',
      { flags: { device_index: 'x' } },
      '"device_index" must be auto|0|0,1,…, got "x"',
    ],
    [
      'an unknown key in the file',
      { file: file('c.json', '{"window": 1}') },
      'unknown setting "window"',
    ],
    [
      'an unknown key of a model',
      { file: file('d.json', '{"models": [{"path": "x", "y": 1}]}') },
      'models.0',
    ],
    [
      'a value out of range',
      { environment: { SHOAL_PORT: '70000' } },
      '"port" must be 0..65535, got 70000 (from the environment)',
    ],
    [
      'a variable for what is set in the file',
      { environment: { SHOAL_MODELS: 'x' } },
      '"models" stands in the config file only, there is no SHOAL_MODELS',
    ],
    [
      'tenants that are no list',
      { file: file('h.yaml', 'tenants: shop') },
      '"tenants" must be a list of objects',
    ],
    ['a word for a number', { flags: { max_queue: 'many' } }, 'got "many"'],
    ['a word that is not on the list', { flags: { batching: 'sometimes' } }, 'adaptive|fixed|off'],
    ['a file that is not there', { file: '/nowhere.json' }, 'cannot read'],
    ['a file that is not JSON', { file: file('e.json', '{') }, 'not valid'],
    ['a file that is a list', { file: file('f.yaml', '- a') }, 'must hold an object'],
    ['an open address without keys', { flags: { host: '0.0.0.0' } }, '--insecure'],
    ['an open IPv6 address without keys', { flags: { host: '::' } }, '--insecure'],
    [
      'a name that may be anything, without keys',
      { flags: { host: 'example.test' } },
      '--insecure',
    ],
    ['a key that is too short', { environment: { SHOAL_API_KEYS: 'short' } }, 'API key'],
    [
      'a key that YAML reads as a number',
      { file: file('i.yaml', 'api_keys: [12345678]') },
      '"api_keys.0" must be a text; write it in quotes',
    ],
    [
      'a key that is not in a list',
      { file: file('j.yaml', 'api_keys: abcdefgh1') },
      '"api_keys" must be a list of texts',
    ],
    [
      'budgets that cannot work',
      { flags: { max_inflight_bytes: '20000000' } },
      'max_inflight_bytes',
    ],
  ])('refuses %s in one line', (_name, sources, message) => {
    const attempt = (): unknown => load(sources);
    expect(attempt).toThrow(ConfigError);
    expect(attempt).toThrow(message);
    expect(attempt).not.toThrow('\n');
  });

  it('does not repeat a key in an error', () => {
    const environment = { SHOAL_API_KEYS: 'secret7' };
    expect(() => load({ environment })).not.toThrow('secret7');
    for (const text of [
      'api_keys: secret77',
      'api_keys: [77777777]',
      'webhook_secrets: [77777777]',
    ]) {
      expect(() => load({ file: file('k.yaml', text) })).toThrow(ConfigError);
      expect(() => load({ file: file('k.yaml', text) })).not.toThrow('777');
      expect(() => load({ file: file('k.yaml', text) })).not.toThrow('secret77');
    }
  });

  it('is not confused by what Kubernetes sets for a service called shoal', () => {
    const environment = {
      SHOAL_PORT: 'tcp://10.0.0.1:8000',
      SHOAL_SERVICE_HOST: '10.0.0.1',
      SHOAL_PORT_8000_TCP: 'tcp://10.0.0.1:8000',
    };
    expect(load({ environment }).port).toBe(8000);
    const redis = {
      SHOAL_REDIS_PORT: 'tcp://10.0.0.1:6379',
      SHOAL_REDIS_SERVICE_HOST: '10.0.0.1',
      SHOAL_REDIS_SERVICE_PORT_MAIN: '6379',
      SHOAL_REDIS_PORT_6379_TCP_ADDR: '10.0.0.1',
    };
    expect(load({ environment: redis }).port).toBe(8000);
    expect(() => load({ environment: { SHOAL_REDIS_PORT: '6379' } })).toThrow('unknown setting');
  });

  it('cannot be used to reach the prototype', () => {
    const path = file('g.json', '{"__proto__": {"polluted": 1}}');
    expect(() => load({ file: path })).toThrow('unknown setting');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

describe('closestTo', () => {
  it('takes the nearest name, not the first that will do', () => {
    expect(closestTo('post', ['host', 'cost', 'port', 'posts'])).toBe('host');
    expect(closestTo('ports', ['host', 'port'])).toBe('port');
    expect(closestTo('window', ['host', 'port'])).toBeUndefined();
  });
});

describe('isLoopback', () => {
  it.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost'])('%s', (host) => {
    expect(isLoopback(host)).toBe(true);
  });
  it.each(['0.0.0.0', '::', '10.0.0.1', '127.evil.test', '', '128.0.0.1'])('not %s', (host) => {
    expect(isLoopback(host)).toBe(false);
  });

  it.each([
    [[{ name: 'a', api_key: 'my-very-secret-key', weight: 'lots' }], /tenants\.0\.weight/],
    [
      [{ name: 'a', api_key: 'my-very-secret-key', wieght: 3 }],
      /unknown setting "tenants.0.wieght" .*; did you mean "weight"\?/,
    ],
    [[{ name: 'a', api_key: 'shorty' }], /at least 8 characters/],
    [[{ api_key: 'my-very-secret-key' }], /tenants\.0/],
    [
      [
        { name: 'a', api_key: 'my-very-secret-key' },
        { name: 'a', api_key: 'another-secret-key' },
      ],
      /two tenants are called "a"/,
    ],
  ])('says what is wrong with tenants, and never prints a key: %j', (tenants, expected) => {
    const file = join(mkdtempSync(join(tmpdir(), 'shoal-')), 'config.json');
    writeFileSync(file, JSON.stringify({ tenants }));
    try {
      loadConfig({ environment: {}, flags: {}, file });
      expect.unreachable();
    } catch (error) {
      expect((error as Error).message).toMatch(expected);
      expect((error as Error).message).not.toMatch(/-secret|shorty/);
    }
  });
});
