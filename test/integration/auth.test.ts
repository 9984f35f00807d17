import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ByteBudget } from '../../src/admission/byte-budget.js';
import { loadConfig } from '../../src/config/load.js';
import { GpuMonitor } from '../../src/gpu/memory-monitor.js';
import { createApp } from '../../src/http/app.js';
import { Lifecycle } from '../../src/http/lifecycle.js';
import { EmbeddedStore } from '../../src/jobs/embedded/embedded-store.js';
import { Jobs } from '../../src/jobs/jobs.js';
import { ModelRegistry } from '../../src/models/registry.js';
import { EventLoopMonitor } from '../../src/telemetry/event-loop.js';
import { createLog } from '../../src/telemetry/log.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import { LIMITS } from '../helpers/jobs.js';
import { GREEN, solidPng } from '../helpers/pictures.js';
import { stubModels, TestServer } from '../helpers/server.js';

const KEY = 'a-long-enough-key';
/** Reviewed: health checks say nothing that needs a key, and orchestrators have none. */
const PUBLIC = ['/health', '/livez', '/readyz'];

/** Every route that the router has, with all its methods. */
async function allRoutes(): Promise<{ method: string; url: string; isPublic: boolean }[]> {
  const log = createLog({ log_level: 'silent', log_format: 'json' });
  const config = loadConfig({ environment: {}, flags: {} });
  const metrics = new Metrics();
  const eventLoop = new EventLoopMonitor();
  const models = new ModelRegistry(config, { log, metrics }, { gpuBytesOf: () => undefined });
  const folder = mkdtempSync(join(tmpdir(), 'shoal-data-'));
  const entry = pathToFileURL(resolve('dist/jobs/embedded/thread.js'));
  const store = await EmbeddedStore.open({ folder, limits: LIMITS, log, entry });
  const jobs = new Jobs(store, config, [], { log, metrics });
  const app = await createApp({
    config,
    models,
    log,
    metrics,
    lifecycle: new Lifecycle(),
    eventLoop,
    tenants: new Map(),
    budget: new ByteBudget(config.max_inflight_bytes),
    jobs,
    gpus: new GpuMonitor(1, { log, metrics }),
    role: 'server',
  });
  eventLoop.stop();
  await jobs.close();
  rmSync(folder, { recursive: true });
  const routes = app
    .printRoutes({ commonPrefix: false, includeHooks: false })
    .split('\n')
    .flatMap((line) => {
      const [, path = '', methods = ''] = /[├└]── (\S+) \(([A-Z, ]+)\)/.exec(line) ?? [];
      const depth = line.search(/[├└]/) / 4;
      return path === '' ? [] : [{ path, methods: methods.split(', '), depth }];
    });
  // The tree prints children relative to their parents.
  const stack: string[] = [];
  return routes.flatMap(({ path, methods, depth }) => {
    stack.length = depth;
    const url = stack.join('') + path;
    stack.push(path);
    return methods.map((method) => ({ method, url, isPublic: PUBLIC.includes(url) }));
  });
}

describe('API keys', () => {
  let server: TestServer;
  let routes: Awaited<ReturnType<typeof allRoutes>>;
  beforeAll(async () => {
    routes = await allRoutes();
    server = await TestServer.start([stubModels({ one: {} })], {
      SHOAL_API_KEYS: `${KEY},another-long-key`,
    });
  });
  afterAll(() => server.stop());

  const call = (
    method: string,
    path: string,
    headers: Record<string, string> = {},
  ): Promise<Response> => fetch(server.url + path, { method, headers });

  it('guard every route that exists, except the reviewed ones', async () => {
    expect(routes.length).toBeGreaterThan(10);
    expect(routes.map(({ url }) => url)).toEqual(
      expect.arrayContaining(['/predict', '/metrics', '/docs', '/openapi.json']),
    );
    for (const { method, url, isPublic } of routes) {
      const path = url.replace(':name', 'one').replace('*', 'x');
      const { status } = await call(method, path);
      expect(status === 401, `${method} ${url} without a key is ${String(status)}`).toBe(!isPublic);
    }
  });

  it.each([
    ['a wrong key', '/models', { authorization: 'Bearer wrong-key-123' }],
    ['an empty key', '/models', { authorization: 'Bearer ' }],
    ['a key in the query', `/models?api_key=${KEY}`, {}],
    ['a double slash', '//models', {}],
    ['a trailing slash', '/models/', {}],
    ['an encoded slash', '/models%2fone', {}],
    ['other case', '/MODELS', {}],
    ['a route that is not there', '/nothing', {}],
    ['a method override', '/models', { 'x-http-method-override': 'OPTIONS' }],
  ])('are not fooled by %s', async (_name, path, headers) => {
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST', 'DELETE']) {
      expect((await call(method, path, headers as Record<string, string>)).status).toBe(401);
    }
  });

  it('let in who has one, by either header', async () => {
    for (const headers of [
      { authorization: `Bearer ${KEY}` },
      { 'x-api-key': 'another-long-key' },
    ]) {
      expect((await call('GET', '/models', headers as Record<string, string>)).status).toBe(200);
    }
    const image = await solidPng(GREEN);
    const answer = await server.post('/predict', image, {
      'content-type': 'image/png',
      'x-api-key': KEY,
    });
    expect(answer.status).toBe(200);
    expect(JSON.stringify(server.lines)).not.toContain(KEY);
  });

  it('refuse before anything is read', async () => {
    const answer = await server.post('/predict', 'x'.repeat(100_000), {
      'content-type': 'image/png',
    });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toContain('Bearer');
  });
});
