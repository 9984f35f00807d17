import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Refusal, Visitor } from '../admission/gate.js';
import { toProblem } from '../errors.js';
import type { ModelRegistry } from '../models/registry.js';
import type { ServedModel } from '../models/served-model.js';
import type { KeyRing } from './auth.js';
import type { Lifecycle } from './lifecycle.js';
import { requestIdOf } from './observe.js';
import { PROBLEM_TYPE } from './problems.js';
import type { ReportQueue } from './report-queue.js';
import { readVisitor } from './wishes.js';

interface RefusalDependencies {
  readonly models: ModelRegistry;
  readonly keys: KeyRing;
  readonly reports: ReportQueue;
  readonly lifecycle: Lifecycle;
  readonly timeoutMs: number;
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
    if (!refuse(request, response, host)) handle(request, response);
  });
  // A client that asks before it sends its body need not send it when it is refused.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (refuse(request, response, host)) return;
    if (isKnown(request, host)) response.writeContinue();
    handle(request, response);
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
): boolean {
  const model = crowdedModel(request, host);
  if (model === undefined || host.lifecycle.isDraining) return false;
  const startedAt = performance.now();
  const id = requestIdOf(request);
  let visitor: Visitor;
  try {
    const tenant = host.keys.identify(request.headers);
    visitor = readVisitor(request, id, tenant, host.timeoutMs, startedAt);
  } catch {
    return false;
  }
  if (model.gate.isExpected(visitor.id)) return false;
  const refusal = model.gate.assess(visitor);
  if (refusal === undefined) return false;
  discardBody(request);
  answer(response, refusal, id, startedAt);
  host.reports.addRefused({
    route: request.url?.startsWith('/models') === true ? '/models/:name/predict' : '/predict',
    model: model.name,
    tenant: visitor.tenant.name,
    code: refusal.code,
  });
  return true;
}

/** Beyond this, a client that does not say how much it sends need not be listened to. */
const MAX_DISCARDED_BYTES = 64 * 2 ** 20;

/** What the client still sends is read and thrown away, so that it can read the answer. */
function discardBody(request: IncomingMessage): void {
  request.resume();
  if (request.headers['content-length'] !== undefined) return;
  let left = MAX_DISCARDED_BYTES;
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.destroy();
  });
}

const PREDICT = /^(?:\/models\/([^/?]+))?\/predict(?:\?|$)/;

function crowdedModel(
  { method, url }: IncomingMessage,
  { models }: RefusalDependencies,
): ServedModel | undefined {
  if (method !== 'POST') return undefined;
  const match = PREDICT.exec(url ?? '');
  const model = match === null ? undefined : models.find(match[1]);
  return model?.gate.isCrowded === true ? model : undefined;
}

function answer(response: ServerResponse, refusal: Refusal, id: string, startedAt: number): void {
  const { code, detail, retryAfterSeconds } = refusal;
  const body = JSON.stringify(toProblem(code, detail, id));
  response.writeHead(429, {
    'content-type': PROBLEM_TYPE,
    'content-length': Buffer.byteLength(body),
    'retry-after': String(retryAfterSeconds),
    'x-request-id': id,
    'server-timing': `total;dur=${(performance.now() - startedAt).toFixed(2)}`,
    'x-content-type-options': 'nosniff',
  });
  response.end(body);
}
