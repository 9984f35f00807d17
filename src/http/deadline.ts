import type { FastifyRequest } from 'fastify';
import { Cancellation } from '../cancellation.js';
import { ShoalError } from '../errors.js';
import type { RequestContext } from './context.js';
import { ClientGoneError } from './receive-body.js';

const MAX_TIMEOUT_MS = 3_600_000;

/** When the answer stops being useful, on `performance.now()`'s clock. */
export function deadlineOf(request: FastifyRequest, defaultMs: number): number {
  const sent = request.headers['x-timeout-ms'];
  if (sent === undefined) return request.context.startedAt + defaultMs;
  const ms = typeof sent === 'string' && /^\d{1,7}$/.test(sent) ? Number(sent) : 0;
  if (ms < 1 || ms > MAX_TIMEOUT_MS) {
    throw new ShoalError(
      'invalid_request',
      `X-Timeout-Ms must be a whole number from 1 to ${String(MAX_TIMEOUT_MS)}.`,
    );
  }
  return request.context.startedAt + ms;
}

/** Cancels when the client leaves or the deadline passes, until it is disposed of. */
export function watchRequest(
  context: RequestContext,
  deadline: number,
): { cancellation: Cancellation } & Disposable {
  const cancellation = new Cancellation();
  context.onClientGone = () => {
    cancellation.cancel(new ClientGoneError('the client closed the connection'));
  };
  if (context.isClosed) context.onClientGone();
  const timer = setTimeout(
    () => {
      cancellation.cancel(new ShoalError('deadline_exceeded', 'There was no answer in time.'));
    },
    Math.max(0, deadline - performance.now()),
  );
  return {
    cancellation,
    [Symbol.dispose]() {
      clearTimeout(timer);
      context.onClientGone = undefined;
    },
  };
}
