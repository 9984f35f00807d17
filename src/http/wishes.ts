import type { IncomingMessage } from 'node:http';
import type { Visitor } from '../admission/gate.js';
import type { Tenant } from '../admission/tenant.js';
import { Cancellation } from '../cancellation.js';
import { ShoalError } from '../errors.js';
import type { RequestContext } from './context.js';
import { ClientGoneError } from './receive-body.js';

const MAX_TIMEOUT_MS = 3_600_000;

/**
 * What a request says about itself in its headers, for the gate.
 * @param id as it was sent, so that a request that comes again is known
 */
export function readVisitor(
  { headers }: IncomingMessage,
  id: string,
  tenant: Tenant,
  defaultTimeoutMs: number,
  startedAt: number,
): Visitor {
  return {
    id: `${tenant.name}/${id}`,
    tenant,
    isBackground: isBackground(headers['x-priority'], tenant),
    bytes: Number(headers['content-length'] ?? 0),
    deadline: startedAt + timeoutOf(headers['x-timeout-ms'], defaultTimeoutMs),
    isExpected: false,
  };
}

function timeoutOf(sent: string | string[] | undefined, defaultMs: number): number {
  if (sent === undefined) return defaultMs;
  const ms = typeof sent === 'string' && /^\d{1,7}$/.test(sent) ? Number(sent) : 0;
  if (ms < 1 || ms > MAX_TIMEOUT_MS) {
    throw new ShoalError(
      'invalid_request',
      `X-Timeout-Ms must be a whole number from 1 to ${String(MAX_TIMEOUT_MS)}.`,
    );
  }
  return ms;
}

/** Background work waits for everything else; a tenant may be all background by default. */
function isBackground(sent: string | string[] | undefined, tenant: Tenant): boolean {
  if (sent === undefined) return tenant.isBackground;
  if (sent === 'interactive' || sent === 'background') return sent === 'background';
  throw new ShoalError('invalid_request', 'X-Priority must be "interactive" or "background".');
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
