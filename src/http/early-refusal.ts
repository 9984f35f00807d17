import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Refusal, Visitor } from '../admission/gate.js';
import { toProblem } from '../errors.js';
import type { KeyRing } from './auth.js';
import { discardBody } from './discard-body.js';
import type { Lifecycle } from './lifecycle.js';
import { requestIdOf } from './observe.js';
import type { Predictor } from './predictor.js';
import { PROBLEM_TYPE } from './problems.js';
import type { ReportQueue } from './report-queue.js';
import { readVisitor } from './wishes.js';

interface RefusalDependencies {
  readonly predictor: Predictor;
  readonly keys: KeyRing;
  readonly reports: ReportQueue;
  readonly lifecycle: Lifecycle;
  readonly timeoutMs: number;
  /** Takes a request that is none of this process's business. True when it has. */
  readonly passOn?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Refuses what would be refused anyway before the framework sees it. At five times its capacity a
 * server mostly refuses, on cores that it should compute with.
 * Whatever is not clear from the headers goes the usual way, where everything is checked again.
 */
export function refusingServer(
  options: object,
  handle: Handler,
  host: RefusalDependencies,
): Server {
  const server = createServer(options, (request, response) => {
    if (host.passOn?.(request, response) === true) return;
    refuse(request, response, host, false, () => {
      handle(request, response);
    });
  });
  // A client that asks before it sends its body need not send it when it is refused.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (host.passOn?.(request, response) === true) return;
    refuse(request, response, host, true, () => {
      if (isKnown(request, host)) response.writeContinue();
      handle(request, response);
    });
  });
  return server;
}

/** Whoever has no right key is told so without having to send anything. */
function isKnown({ headers }: IncomingMessage, { keys }: RefusalDependencies): boolean {
  try {
    keys.identify(headers);
    return true;
  } catch {
    return false;
  }
}

function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  host: RefusalDependencies,
  isAsking: boolean,
  goOn: () => void,
): void {
  const { predictor, keys, lifecycle, timeoutMs } = host;
  const path = predictPathOf(request);
  const model = path === undefined ? undefined : predictor.findCrowded(path.model, isAsking);
  if (model === undefined || lifecycle.isDraining) {
    goOn();
    return;
  }
  const startedAt = performance.now();
  const id = requestIdOf(request);
  let visitor: Visitor;
  try {
    const tenant = keys.identify(request.headers);
    visitor = readVisitor(request, id, tenant, timeoutMs, startedAt);
  } catch {
    goOn();
    return;
  }
  predictor.assess(model, visitor, (refusal) => {
    if (refusal === undefined) {
      goOn();
      return;
    }
    discardBody(request);
    answer(response, refusal, id, startedAt);
    host.reports.addRefused({
      route: path?.model === undefined ? '/predict' : '/models/:name/predict',
      model,
      tenant: visitor.tenant.name,
      code: refusal.code,
    });
  });
}

const PREDICT = /^(?:\/models\/([^/?]+))?\/predict(?:\?|$)/;

/** Which model a predict request names; `undefined` when it is another kind of request. */
export function predictPathOf({
  method,
  url,
}: IncomingMessage): { model: string | undefined } | undefined {
  const match = method === 'POST' ? PREDICT.exec(url ?? '') : null;
  return match === null ? undefined : { model: match[1] };
}

function answer(response: ServerResponse, refusal: Refusal, id: string, startedAt: number): void {
  const { code, detail, retryAfterSeconds } = refusal;
  const problem = toProblem(code, detail, id);
  const body = JSON.stringify(problem);
  response.writeHead(problem.status, {
    'content-type': PROBLEM_TYPE,
    'content-length': Buffer.byteLength(body),
    'retry-after': String(retryAfterSeconds),
    'x-request-id': id,
    'server-timing': `total;dur=${(performance.now() - startedAt).toFixed(2)}`,
    'x-content-type-options': 'nosniff',
  });
  response.end(body);
}
