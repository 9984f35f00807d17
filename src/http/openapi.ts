import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { VERSION } from '../version.js';
import {
  PredictForm,
  PredictHeaders,
  PredictJson,
  PredictOptions,
  ProblemResponse,
} from './schemas.js';

const IMAGE = { schema: { type: 'string', format: 'binary' } };
/** Documented here and not in the routes: those check all forms in one place of their own. */
const PREDICT_INPUT = {
  querystring: PredictOptions,
  headers: PredictHeaders,
  body: {
    content: {
      'application/json': { schema: PredictJson },
      'multipart/form-data': { schema: PredictForm },
      'image/jpeg': IMAGE,
      'image/png': IMAGE,
      'image/webp': IMAGE,
    },
  },
};
const PROBLEM = {
  description: 'An error; `code` says which.',
  content: { 'application/problem+json': { schema: ProblemResponse } },
};

/** No `upgrade-insecure-requests`, with which the page stays empty on a plain HTTP address. */
const CONTENT_POLICY =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; " +
  "object-src 'none'; base-uri 'none'; frame-ancestors 'none'";

/** `GET /openapi.json` and the page `GET /docs`, from the schemas that validate. */
export async function openApiRoutes(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Shoal',
        description: 'Object detection over HTTP.',
        version: VERSION,
        license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      },
      tags: [{ name: 'predict' }, { name: 'models' }, { name: 'health' }],
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer' },
          apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        },
      },
      security: [{}, { bearer: [] }, { apiKey: [] }],
    },
    transform: ({ schema, url, route }) => {
      const shown = schema as Record<string, unknown> & { response?: object };
      const response = { ...shown.response, default: PROBLEM };
      const input = url.endsWith('/predict') ? PREDICT_INPUT : {};
      const security = route.config?.isPublic === true ? { security: [] } : {};
      return { schema: { ...shown, ...input, ...security, response }, url };
    },
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    uiConfig: { docExpansion: 'list', tryItOutEnabled: true },
    theme: { title: 'Shoal API' },
    staticCSP: CONTENT_POLICY,
  });
  app.route({
    method: 'GET',
    url: '/openapi.json',
    schema: { hide: true },
    handler: () => app.swagger(),
  });
}
