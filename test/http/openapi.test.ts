import fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { openApiRoutes } from '../../src/http/openapi.js';

interface Shown {
  readonly security: unknown;
  readonly paths: Record<
    string,
    Record<string, { security?: unknown; responses: Record<string, { headers: object }> }>
  >;
}

async function describeApi(needsKey: boolean): Promise<Shown> {
  const app = fastify();
  await openApiRoutes(app, needsKey);
  const common = { schema: {}, handler: () => '' };
  app.route({ method: 'POST', url: '/predict', ...common });
  app.route({ method: 'GET', url: '/livez', config: { isPublic: true }, ...common });
  await app.ready();
  return app.swagger() as unknown as Shown;
}

describe('the OpenAPI document', () => {
  it('says that nobody gets in without a key where keys are needed', async () => {
    const { security, paths } = await describeApi(true);
    expect(security).toEqual([{ bearer: [] }, { apiKey: [] }]);
    expect(paths['/predict']?.['post']?.security).toBeUndefined();
    expect(paths['/livez']?.['get']?.security).toEqual([]);
  });

  it('says that keys are not needed where there are none', async () => {
    expect((await describeApi(false)).security).toEqual([{}, { bearer: [] }, { apiKey: [] }]);
  });

  it('says when to come back, where something can be refused for now', async () => {
    const { paths } = await describeApi(false);
    const { responses } = paths['/predict']?.['post'] ?? { responses: {} };
    expect(Object.keys(responses['429']?.headers ?? {})).toEqual(['X-Request-Id', 'Retry-After']);
    expect(paths['/livez']?.['get']?.responses).not.toHaveProperty('429');
  });
});
