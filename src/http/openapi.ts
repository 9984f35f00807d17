import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { VERSION } from '../version.js';
import {
  JobForm,
  JobHeaders,
  JobJson,
  JobListQuery,
  JobPurgeQuery,
  JobResponse,
  JobWaitQuery,
} from './job-schemas.js';
import {
  JobOptions,
  PredictForm,
  PredictHeaders,
  PredictJson,
  PredictOptions,
  ProblemResponse,
} from './schemas.js';

const IMAGE = { schema: { type: 'string', format: 'binary' } };
/** Documented here and not in the routes: those check all forms in one place of their own. */
const imageInput = (
  json: TSchema,
  form: TSchema,
  others: { querystring: TSchema; headers: TSchema },
): object => ({
  ...others,
  body: {
    content: {
      'application/json': { schema: json },
      'multipart/form-data': { schema: form },
      'image/jpeg': IMAGE,
      'image/png': IMAGE,
      'image/webp': IMAGE,
      'application/octet-stream': IMAGE,
    },
  },
});
const PREDICT_INPUT = imageInput(PredictJson, PredictForm, {
  querystring: PredictOptions,
  headers: PredictHeaders,
});
const JOB_INPUT = imageInput(JobJson, JobForm, { querystring: JobOptions, headers: JobHeaders });
const EVENTS = {
  description: 'Events `job`, each with the whole job as its data and its version as its id.',
  content: { 'text/event-stream': { schema: JobResponse } },
};
const EventsHeaders = Type.Object({
  'last-event-id': Type.Optional(
    Type.Integer({
      description: 'The version that was seen last; what is older is not sent again.',
    }),
  ),
});
const NO_EVENTS = Type.Null({ description: 'The end of the job was seen already.' });
const EXPOSITION = {
  description: 'The text format of Prometheus.',
  content: { 'text/plain': { schema: Type.String() } },
};
const PROBLEM = {
  description: 'An error; `code` says which.',
  content: { 'application/problem+json': { schema: ProblemResponse } },
};

function inputOf(url: string, method: string | string[]): object {
  if (url.endsWith('/predict')) return PREDICT_INPUT;
  switch (`${[method].flat().join()} ${url}`) {
    case 'POST /jobs':
      return JOB_INPUT;
    case 'GET /jobs':
      return { querystring: JobListQuery };
    case 'DELETE /jobs':
      return { querystring: JobPurgeQuery };
    case 'GET /jobs/:id':
      return { querystring: JobWaitQuery };
    case 'GET /jobs/:id/events':
      return { headers: EventsHeaders, response: { 200: EVENTS, 204: NO_EVENTS } };
    case 'GET /metrics':
      return { response: { 200: EXPOSITION } };
    default:
      return {};
  }
}

/** No `upgrade-insecure-requests`, with which the page stays empty on a plain HTTP address. */
const CONTENT_POLICY =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; " +
  "object-src 'none'; base-uri 'none'; frame-ancestors 'none'";

/** `GET /openapi.json` and the page `GET /docs`. */
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
      tags: [{ name: 'predict' }, { name: 'jobs' }, { name: 'models' }, { name: 'health' }],
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
      const input = inputOf(url, route.method) as { response?: object };
      const response = { ...shown.response, ...input.response, default: PROBLEM };
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
