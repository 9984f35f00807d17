import { Agent, type IncomingMessage, request as send, type ServerResponse } from 'node:http';
import { toProblem } from '../errors.js';
import { discardBody } from '../http/discard-body.js';
import type { Lifecycle } from '../http/lifecycle.js';
import { onceClosed } from '../http/on-close.js';
import { PROBLEM_TYPE } from '../http/problems.js';

/** Kept for the next requests. A burst would otherwise leave hundreds behind. */
const MAX_IDLE_SOCKETS = 16;
/** They are about one connection, and there are two. */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'proxy-connection']);

/** Passes requests on to the server process as they come, and its answers back. */
export class Proxy {
  readonly #path: string;
  readonly #lifecycle: Lifecycle;
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: MAX_IDLE_SOCKETS });

  constructor(path: string, lifecycle: Lifecycle) {
    this.#path = path;
    this.#lifecycle = lifecycle;
  }

  pass(request: IncomingMessage, response: ServerResponse): void {
    this.#lifecycle.requestStarted();
    const upstream = send({
      socketPath: this.#path,
      agent: this.#agent,
      method: request.method ?? 'GET',
      path: request.url ?? '/',
      headers: [...endToEnd(request.rawHeaders), ...missing(request)],
      setHost: false,
    });
    onceClosed(response, request.socket, () => {
      this.#lifecycle.requestEnded();
      if (!response.writableFinished) upstream.destroy();
    });
    upstream.on('continue', () => {
      response.writeContinue();
    });
    upstream.on('response', (answer) => {
      const headers = endToEnd(answer.rawHeaders, 'transfer-encoding');
      const isLast = this.#lifecycle.isDraining || answer.headers.connection === 'close';
      if (isLast) headers.push('Connection', 'close');
      response.writeHead(answer.statusCode ?? 500, headers);
      // Events are few and far between; whoever waits must see that they will come.
      response.flushHeaders();
      answer.on('error', () => response.destroy());
      answer.on('end', () => {
        if (request.complete) return;
        // Answered before all of it was sent: nobody reads the rest any more.
        request.unpipe(upstream);
        upstream.destroy();
        discardBody(request);
      });
      answer.pipe(response);
    });
    upstream.on('error', () => {
      this.#refuse(response);
    });
    // What is refused by its headers need not wait for its body.
    if (hasBody(request)) upstream.flushHeaders();
    request.pipe(upstream);
  }

  /** The server process does not answer, so this one is about to end as well. */
  #refuse(response: ServerResponse): void {
    if (response.writableEnded || response.destroyed) return;
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const body = JSON.stringify(toProblem('not_ready', 'The server is not ready.'));
    response.writeHead(503, {
      'content-type': PROBLEM_TYPE,
      'content-length': Buffer.byteLength(body),
      connection: 'close',
    });
    response.end(body);
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** What clients may leave out, and Node would add in another way or not at all. */
function missing(request: IncomingMessage): string[] {
  return [
    // HTTP/1.0 does without one, but the request is passed on as HTTP/1.1.
    ...(request.headers.host === undefined ? ['Host', 'localhost'] : []),
    // Otherwise a POST would have a body of unknown length, if none at all.
    ...(hasBody(request) || isRead(request) ? [] : ['Content-Length', '0']),
  ];
}

/**
 * Names and values in turn, as they came. A request keeps its transfer encoding, without which a
 * body of unknown length would look like more requests.
 */
function endToEnd(rawHeaders: readonly string[], omitted = ''): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2);
    const key = name.toLowerCase();
    if (key !== omitted && !HOP_BY_HOP.has(key)) kept.push(name, value);
  }
  return kept;
}
