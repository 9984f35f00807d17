/**
 * Every error a client can see: a stable code, its HTTP status and a title. Codes are never
 * renamed or reused; `docs/errors.md` lists the same ones, which a test checks.
 */
export const ERRORS = {
  malformed_request: { status: 400, title: 'The HTTP request is malformed' },
  empty_body: { status: 400, title: 'The request has no image' },
  invalid_json: { status: 400, title: 'The body is not valid JSON' },
  invalid_base64: { status: 400, title: 'The image is not valid base64' },
  invalid_multipart: { status: 400, title: 'The form data cannot be read' },
  invalid_image: { status: 400, title: 'The image is damaged' },
  unauthorized: { status: 401, title: 'An API key is required' },
  not_found: { status: 404, title: 'There is no such route' },
  model_not_found: { status: 404, title: 'There is no such model' },
  job_not_found: { status: 404, title: 'There is no such job' },
  method_not_allowed: { status: 405, title: 'The route takes another method' },
  request_timeout: { status: 408, title: 'The request arrived too slowly' },
  job_conflict: { status: 409, title: 'The job is in a state that does not allow this' },
  body_too_large: { status: 413, title: 'The body is too large' },
  image_too_large: { status: 413, title: 'The image has too many pixels' },
  image_too_costly: { status: 413, title: 'The image needs too much memory to decode' },
  unsupported_content_type: { status: 415, title: 'The content type is not supported' },
  unsupported_content_encoding: { status: 415, title: 'The content encoding is not supported' },
  unsupported_image_format: { status: 415, title: 'The image format is not supported' },
  invalid_request: { status: 422, title: 'The request does not match the schema' },
  idempotency_conflict: { status: 422, title: 'The idempotency key was used for another job' },
  webhook_refused: { status: 422, title: 'The webhook address is not allowed' },
  image_quarantined: { status: 422, title: 'The image is known to break the engine' },
  rate_limited: { status: 429, title: 'This key sends more requests than it may' },
  concurrency_limited: { status: 429, title: 'This key has more requests in work than it may' },
  too_late: { status: 429, title: 'The answer would come too late' },
  queue_full: { status: 429, title: 'The server is at its limit' },
  memory_full: { status: 429, title: 'The server holds as many request bytes as it may' },
  headers_too_large: { status: 431, title: 'The request headers are too large' },
  internal_error: { status: 500, title: 'Something went wrong in the server' },
  model_failed: { status: 500, title: 'The model failed on this image' },
  model_output_invalid: { status: 500, title: 'The model gave a result that is not a number' },
  worker_lost: { status: 500, title: 'Whoever ran the job disappeared too often' },
  engine_unavailable: { status: 503, title: 'The model cannot serve at the moment' },
  out_of_memory: { status: 503, title: 'There is not enough memory for this image' },
  gpu_memory_high: { status: 503, title: 'The GPU has almost no memory left' },
  not_ready: { status: 503, title: 'The server is not ready' },
  store_unavailable: { status: 503, title: 'The job store cannot be reached' },
  deadline_exceeded: { status: 504, title: 'The deadline passed before there was an answer' },
  store_full: { status: 507, title: 'The job store has no room' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** An error whose `detail` may be shown to the client: it names no path, no stack and no host. */
export class ShoalError extends Error {
  readonly code: ErrorCode;
  /** Seconds after which a retry makes sense. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ErrorCode,
    detail: string,
    options: { cause?: unknown; retryAfterSeconds?: number } = {},
  ) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ShoalError';
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** The body of an error answer (RFC 9457). */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail: string;
  readonly request_id?: string;
}

export function toProblem(code: ErrorCode, detail: string, requestId?: string): Problem {
  const { status, title } = ERRORS[code];
  return {
    type: 'about:blank',
    title,
    status,
    code,
    detail,
    ...(requestId === undefined ? {} : { request_id: requestId }),
  };
}
