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
import { OPERATIONS } from './operations.js';
import {
  JobOptions,
  PredictForm,
  PredictHeaders,
  PredictJson,
  PredictOptions,
  ProblemResponse,
} from './schemas.js';

const JSON_TYPE = 'application/json';
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
      [JSON_TYPE]: { schema: json },
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
const ANSWER_HEADERS = {
  'X-Request-Id': Type.String({ description: 'The one that was sent, or a fresh one.' }),
};
const PROBLEM = {
  description: 'An error; `code` says which.',
  headers: ANSWER_HEADERS,
  content: { 'application/problem+json': { schema: ProblemResponse } },
};
const COME_BACK = {
  ...PROBLEM,
  headers: {
    ...ANSWER_HEADERS,
    'Retry-After': Type.Integer({
      description: 'Seconds after which to come back, where that is known.',
    }),
  },
};

function inputOf(name: string): object {
  if (name.endsWith('/predict')) return PREDICT_INPUT;
  switch (name) {
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

/** Every answer with words of its own; without them the document would say "Default Response". */
function answersOf(name: string, schemas: Readonly<Record<string, object>>): object {
  const described = Object.entries(schemas).map(([status, schema]) => {
    const description = OPERATIONS[name]?.answers[status];
    const isWhole = 'content' in schema || description === undefined;
    const answer = isWhole ? schema : { description, content: { [JSON_TYPE]: { schema } } };
    return [status, { ...answer, headers: ANSWER_HEADERS }] as const;
  });
  const isRefusable = /\/(predict|jobs)\b/.test(name);
  return {
    ...(isRefusable && { 429: COME_BACK, 503: COME_BACK }),
    ...Object.fromEntries(described),
    default: PROBLEM,
  };
}

/** No `upgrade-insecure-requests`, with which the page stays empty on a plain HTTP address. */
const CONTENT_POLICY =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; " +
  "object-src 'none'; base-uri 'none'; frame-ancestors 'none'";

const BY_KEY = [{ bearer: [] }, { apiKey: [] }];

/**
 * `GET /openapi.json` and the page `GET /docs`.
 * @param needsKey otherwise whoever has one may send it, and nobody asks
 */
export async function openApiRoutes(app: FastifyInstance, needsKey: boolean): Promise<void> {
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
      security: needsKey ? BY_KEY : [{}, ...BY_KEY],
    },
    transform: ({ schema, url, route }) => {
      const name = `${[route.method].flat().join()} ${url}`;
      const shown = schema as Record<string, unknown> & { response?: object };
      const input = inputOf(name) as { response?: object };
      const response = answersOf(name, { ...shown.response, ...input.response });
      const operationId = OPERATIONS[name]?.operationId ?? name;
      const security = route.config?.isPublic === true ? { security: [] } : {};
      return { schema: { ...shown, ...input, ...security, operationId, response }, url };
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
