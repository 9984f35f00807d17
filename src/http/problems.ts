import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorCode, ShoalError, toProblem } from '../errors.js';
import type { Log } from '../telemetry/log.js';
import { ClientGoneError } from './receive-body.js';

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

/** The one place where an error becomes an answer. */
export function sendProblem(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  log: Log,
): void {
  if (error instanceof ClientGoneError) {
    request.context.errorCode = 'client_gone';
    // Nobody reads this; it only ends the request.
    void reply.code(499).send();
    return;
  }
  const shown = toShoalError(error);
  if (shown.status >= 500 && shown !== error) {
    log.error({ request_id: request.id, err: error }, 'unexpected error');
  }
  request.context.errorCode = shown.code;
  if (shown.retryAfterSeconds !== undefined) {
    void reply.header('retry-after', String(shown.retryAfterSeconds));
  }
  if (shown.code === 'unauthorized')
    void reply.header('www-authenticate', 'Basic realm="shoal", Bearer');
  void reply
    .code(shown.status)
    .type(PROBLEM_TYPE)
    .send(JSON.stringify(toProblem(shown.code, shown.message, request.id)));
}

/** Errors of Fastify itself get a code of ours; anything else is a bug and says nothing. */
function toShoalError(error: unknown): ShoalError {
  if (error instanceof ShoalError) return error;
  const { code, statusCode, validation, message } = error as Partial<FastifyError>;
  if (validation !== undefined) {
    return new ShoalError('invalid_request', `${message ?? ''}${allowedValues(validation)}`);
  }
  const known = FASTIFY_ERRORS[code ?? ''];
  if (known !== undefined) return new ShoalError(known[0], known[1]);
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new ShoalError('malformed_request', 'The request cannot be understood.');
  }
  return new ShoalError('internal_error', 'Something went wrong; the log says more.', {
    cause: error,
  });
}

/** Which words would do, where only some do. */
function allowedValues([first]: NonNullable<FastifyError['validation']>): string {
  const { allowedValues: allowed } = (first?.params ?? {}) as { allowedValues?: unknown[] };
  return allowed === undefined ? '' : `: ${allowed.join(', ')}`;
}

const FASTIFY_ERRORS: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_content_type', 'The content type cannot be read.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    'malformed_request',
    'The body has not the length declared.',
  ],
};

/** Requests that never became one: the parser refused them, or they came too slowly. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  // An answer that is under way cannot be followed by another one.
  const { _httpMessage: answer } = socket as Socket & { _httpMessage?: ServerResponse };
  if (error.code === 'ECONNRESET' || !socket.writable || answer?.headersSent === true) {
    socket.destroy();
    return;
  }
  const code = CLIENT_ERRORS[error.code ?? ''] ?? 'malformed_request';
  const problem = toProblem(code, CLIENT_ERROR_DETAILS[code] ?? 'The request is not valid HTTP.');
  const body = JSON.stringify(problem);
  socket.end(
    `HTTP/1.1 ${String(problem.status)} ${STATUS_CODES[problem.status] ?? ''}\r\n` +
      `Content-Type: ${PROBLEM_TYPE}\r\nContent-Length: ${String(Buffer.byteLength(body))}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  );
}

const CLIENT_ERRORS: Readonly<Record<string, ErrorCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
};
const CLIENT_ERROR_DETAILS: Partial<Record<ErrorCode, string>> = {
  request_timeout: 'The request was not complete in time.',
  headers_too_large: 'The headers are larger than is accepted.',
};
