import type { IncomingMessage, ServerResponse } from 'node:http';
import fastify, { type FastifyInstance } from 'fastify';
import type { Tenant } from '../admission/tenant.js';
import type { Config } from '../config/schema.js';
import { ShoalError } from '../errors.js';
import type { Log } from '../telemetry/log.js';
import type { Metrics } from '../telemetry/metrics.js';
import { KeyRing } from './auth.js';
import { createContext } from './context.js';
import { refusingServer } from './early-refusal.js';
import type { Lifecycle } from './lifecycle.js';
import { answerUnknownRoutes } from './not-found.js';
import { observeRequests, requestIdOf } from './observe.js';
import type { Predictor } from './predictor.js';
import { answerClientError, sendProblem } from './problems.js';
import { ReportQueue } from './report-queue.js';

export interface ShellDependencies {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly lifecycle: Lifecycle;
  readonly tenants: ReadonlyMap<string, Tenant>;
  readonly predictor: Predictor;
  /** Clients are served by other processes, which keep to the limits of time and number. */
  readonly isInner?: boolean;
  /** Takes a request that is none of this process's business. True when it has. */
  readonly passOn?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

const MAX_HEADER_BYTES = 16 * 1024;
/** Node looks for slow clients only this often. */
const TIMEOUT_CHECK_MS = 1000;

/** A server that knows how every request is received, checked, observed and refused, but no route. */
export function createShell(dependencies: ShellDependencies): FastifyInstance {
  const { config, log, metrics, lifecycle, predictor, passOn, isInner = false } = dependencies;
  const keys = new KeyRing(dependencies.tenants);
  const reports = new ReportQueue(log, metrics);
  metrics.onCollect(() => {
    reports.flush();
  });
  const app = fastify({
    logger: false,
    genReqId: requestIdOf,
    // Routes count bytes themselves, with a limit that depends on the form of the body.
    bodyLimit: Number.MAX_SAFE_INTEGER,
    forceCloseConnections: false,
    serverFactory: (handle) => {
      const options = {
        requestTimeout: isInner ? 0 : config.body_timeout_ms,
        keepAliveTimeout: isInner ? 0 : config.keep_alive_timeout_ms,
        headersTimeout: isInner ? 0 : config.headers_timeout_ms,
        connectionsCheckingInterval: TIMEOUT_CHECK_MS,
        maxHeaderSize: MAX_HEADER_BYTES,
      };
      const timeoutMs = config.timeout_ms;
      const host = { predictor, keys, reports, lifecycle, timeoutMs };
      return refusingServer(options, handle, passOn === undefined ? host : { ...host, passOn });
    },
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      request.context = createContext(request.id);
      void reply.header('x-request-id', request.id);
      sendProblem(error, request, reply, log);
    },
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false, useDefaults: false } },
  });

  // Before any route, so that a new one is guarded unless it says otherwise.
  observeRequests(app, { reports, lifecycle }, (request) => {
    if (request.routeOptions.config.isPublic !== true) {
      request.context.tenant = keys.identify(request.headers);
    }
    if (request.headers['content-encoding'] !== undefined) {
      throw new ShoalError(
        'unsupported_content_encoding',
        'Send the body as it is, not compressed.',
      );
    }
  });
  app.setErrorHandler((error, request, reply) => {
    sendProblem(error, request, reply, log);
  });
  answerUnknownRoutes(app, config.queue !== 'off');
  app.removeAllContentTypeParsers();
  return app;
}
