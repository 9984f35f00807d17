import fastify, { type FastifyInstance } from 'fastify';
import { describe, expect, it } from 'vitest';
import { answerUnknownRoutes } from '../../src/http/not-found.js';

function appWith(routes: readonly string[], hasJobs = true): FastifyInstance {
  const app = fastify();
  app.setErrorHandler((error, _request, reply) => reply.send((error as Error).message));
  answerUnknownRoutes(app, hasJobs);
  for (const url of routes) app.route({ method: 'GET', url, handler: () => 'here' });
  return app;
}

const bodyOf = async (app: FastifyInstance, url: string, method: 'GET' | 'POST' = 'GET') =>
  (await app.inject({ url, method })).body;

describe('what is not there', () => {
  it('is explained by the docs only where there are some', async () => {
    const server = appWith(['/docs']);
    expect(await bodyOf(server, '/x')).toBe('There is no such route; see GET /docs.');
    expect(await bodyOf(server, '/docs', 'POST')).toContain('GET /docs says more.');
    const worker = appWith(['/livez']);
    expect(await bodyOf(worker, '/x')).toBe('There is no such route.');
    expect(await bodyOf(worker, '/livez', 'POST')).toBe('Use GET, HEAD here.');
  });

  it('is said to be off when it is jobs', async () => {
    const off = appWith(['/docs'], false);
    for (const url of ['/jobs', '/jobs/1/events', '/jobs?state=queued']) {
      expect(await bodyOf(off, url)).toContain('Jobs are switched off');
    }
    expect(await bodyOf(off, '/jobsite')).toContain('no such route');
    expect(await bodyOf(appWith([]), '/jobs')).toContain('no such route');
  });
});
