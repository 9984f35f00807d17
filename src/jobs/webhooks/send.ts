import { type IncomingMessage, request as httpRequest } from 'node:http';
import type { Socket } from 'node:net';
import type { Cancellation } from '../../cancellation.js';
import { ShoalError } from '../../errors.js';
import { dial, type Network } from './dial.js';
import { Failure, type FailureReason } from './failure.js';
import { parseRetryAfter } from './schedule.js';
import { checkTarget } from './target.js';

export interface Parcel {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export type Outcome =
  | { readonly kind: 'delivered' }
  | {
      readonly kind: 'failed';
      readonly reason: FailureReason;
      readonly retryAfterMs?: number;
    }
  /** By the cancellation. Whether the receiver has got it is not known. */
  | { readonly kind: 'aborted' };

const MAX_HEADER_BYTES = 16 * 1024;
/** What is read of the answer's body, and for how long, only to part politely. */
const MAX_BODY_BYTES = 4 * 1024;
const MAX_BODY_MS = 1000;

/** One attempt. Never rejects. Follows no redirects, uses no proxy, keeps no connection. */
export async function send(
  parcel: Parcel,
  network: Network & { readonly timeoutMs: number },
  cancellation: Cancellation,
): Promise<Outcome> {
  const attempt = new AbortController();
  const timer = setTimeout(() => {
    attempt.abort();
  }, network.timeoutMs);
  cancellation.listen(() => {
    attempt.abort();
  });
  let socket: Socket | undefined;
  try {
    attempt.signal.throwIfAborted();
    // Settings may have changed since the job was submitted.
    const target = checkTarget(parcel.url, network.allow);
    socket = await dial(target, network, network.timeoutMs, attempt.signal);
    const answer = await post(socket, target.url, parcel, attempt.signal);
    return judge(answer);
  } catch (error) {
    if (cancellation.reason !== undefined) return { kind: 'aborted' };
    if (attempt.signal.aborted) return { kind: 'failed', reason: 'timeout' };
    return { kind: 'failed', reason: reasonOf(error) };
  } finally {
    cancellation.listen(undefined);
    clearTimeout(timer);
    socket?.destroy();
  }
}

interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** Resolves when the connection is done with, if the head of an answer has come. */
function post(
  socket: Socket,
  url: URL,
  { headers, body }: Parcel,
  signal: AbortSignal,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let answer: Answer | undefined;
    let failure: unknown;
    const request = httpRequest({
      method: 'POST',
      path: url.pathname + url.search,
      headers: { ...headers, host: url.host, 'content-length': body.length, connection: 'close' },
      createConnection: () => socket,
      maxHeaderSize: MAX_HEADER_BYTES,
      insecureHTTPParser: false,
      signal,
    });
    request.on('response', (response) => {
      const { statusCode: status = 0, headers: received } = response;
      answer = { status, retryAfter: received['retry-after'] };
      discard(response);
    });
    request.on('error', (error) => {
      failure = error;
    });
    request.on('close', () => {
      if (answer === undefined) reject(new Failure(reasonOf(failure), failure));
      else resolve(answer);
    });
    request.end(body);
  });
}

/** Nobody needs what the receiver says beside its status. */
function discard(response: IncomingMessage): void {
  const end = (): void => {
    clearTimeout(timer);
    response.destroy();
  };
  const timer = setTimeout(end, MAX_BODY_MS);
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) end();
  });
  response.on('end', end);
  response.on('close', end);
  response.on('error', () => undefined);
}

function judge({ status, retryAfter }: Answer): Outcome {
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  const asked =
    status === 429 || status === 503 ? parseRetryAfter(retryAfter, Date.now()) : undefined;
  return {
    kind: 'failed',
    reason: `status_${String(status)}`,
    ...(asked !== undefined && { retryAfterMs: asked }),
  };
}

function reasonOf(error: unknown): FailureReason {
  if (error instanceof Failure) return error.reason;
  if (error instanceof ShoalError) return 'refused_address';
  const { code = '' } = (error ?? {}) as NodeJS.ErrnoException;
  return code.startsWith('HPE_') ? 'response' : 'connection';
}
