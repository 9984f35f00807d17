import { Agent, type IncomingMessage, request as send, type ServerResponse } from 'node:http';
import { toProblem } from '../errors.js';
import type { Lifecycle } from '../http/lifecycle.js';
import { onceClosed } from '../http/on-close.js';
import { PROBLEM_TYPE } from '../http/problems.js';

/** They are about one connection, and there are two. */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'proxy-connection']);

/** Passes requests on to the server process as they come, and its answers back. */
export class Proxy {
  readonly #path: string;
  readonly #lifecycle: Lifecycle;
  readonly #agent = new Agent({ keepAlive: true });

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
      headers: endToEnd(request.rawHeaders),
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
      if (this.#lifecycle.isDraining) headers.push('Connection', 'close');
      response.writeHead(answer.statusCode ?? 500, headers);
      // Events are few and far between; whoever waits must see that they will come.
      response.flushHeaders();
      answer.on('error', () => response.destroy());
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
