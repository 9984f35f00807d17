import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { createContext, type RequestContext, STAGES } from './context.js';
import type { Lifecycle } from './lifecycle.js';
import { onceClosed } from './on-close.js';
import type { ReportQueue } from './report-queue.js';
import { REQUEST_ID } from './schemas.js';

const SANE_ID = new RegExp(REQUEST_ID);

/** The caller's id when it is harmless in logs and headers, otherwise a fresh one. */
export function requestIdOf(request: IncomingMessage): string {
  const sent = request.headers['x-request-id'];
  return typeof sent === 'string' && SANE_ID.test(sent) ? sent : randomUUID();
}

/**
 * Headers, log line and metrics that every request gets.
 * @param check what every request must pass; it throws where one does not
 */
export function observeRequests(
  app: FastifyInstance,
  { reports, lifecycle }: { reports: ReportQueue; lifecycle: Lifecycle },
  check: (request: FastifyRequest) => void,
): void {
  app.addHook('onClose', (_app, done) => {
    reports.flush();
    done();
  });
  // The real value is set per request; the slot must exist before.
  app.decorateRequest('context', null as unknown as RequestContext);

  app.addHook('onRequest', (request, reply, done) => {
    const context = createContext(request.id);
    request.context = context;
    lifecycle.requestStarted();
    onceClosed(reply.raw, request.raw.socket, () => {
      context.isClosed = true;
      context.reservation?.release();
      context.leave?.();
      context.onClientGone?.();
      lifecycle.requestEnded();
      reports.add({
        context,
        method: request.method,
        route: request.routeOptions.url ?? 'unknown',
        status: reply.raw.writableFinished ? reply.statusCode : 499,
        totalMs: performance.now() - context.startedAt,
        endedAt: Date.now(),
        isProbe: request.routeOptions.config.isPublic === true,
      });
    });
    check(request);
    done();
  });

  app.addHook('onSend', (request, reply, payload, done) => {
    void reply.headers({
      'x-request-id': request.id,
      'server-timing': serverTiming(request.context),
      'x-content-type-options': 'nosniff',
      ...(lifecycle.isDraining && { connection: 'close' }),
    });
    done(null, payload);
  });
}

function serverTiming({ stagesMs, batchSize, startedAt }: RequestContext): string {
  const entries = STAGES.filter((stage) => stagesMs[stage] !== undefined).map(
    (stage) => `${stage};dur=${(stagesMs[stage] ?? 0).toFixed(2)}`,
  );
  if (batchSize !== undefined) entries.push(`batch;desc="${String(batchSize)}"`);
  return [...entries, `total;dur=${(performance.now() - startedAt).toFixed(2)}`].join(', ');
}
