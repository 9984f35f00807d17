import { shownUrl } from './address.js';

/** The server gave an answer that another attempt would not change. */
export class WebError extends Error {
  readonly status: number;

  constructor(status: number, url: string) {
    super(`${shownUrl(url)} answers ${String(status)}${ADVICE[status] ?? ''}`);
    this.status = status;
  }
}

const ADVICE: Readonly<Record<number, string>> = {
  401: '; put a user name and password into the address of the index',
  403: '; this user may not read it',
  407: '; the proxy wants a password',
};

/** It may go better another time. */
export class PassingError extends Error {
  /** How long the server asks to wait until then. */
  readonly waitMs: number;

  constructor(message: string, waitMs = 0) {
    super(message);
    this.waitMs = waitMs;
  }
}

/** There was no connection, however often it was tried. */
export class UnreachableError extends Error {}

/** `fetch` throws a TypeError with a cause for everything that happens to a connection. */
export function isPassing(error: unknown): boolean {
  if (error instanceof PassingError) return true;
  return error instanceof TypeError && error.cause !== undefined && !isUntrusted(error.cause);
}

/** What happened, in a few words. */
export function problemOf(error: unknown): string {
  const { cause, code, message } = error as NodeJS.ErrnoException;
  if (error instanceof TypeError && cause instanceof Error) return problemOf(cause);
  if (isUntrusted(error)) return `${message}; name its authority in NODE_EXTRA_CA_CERTS`;
  return message === '' ? (code ?? 'no reason given') : message;
}

function isUntrusted(error: unknown): boolean {
  return /CERT|ISSUER|SIGNATURE/.test((error as NodeJS.ErrnoException).code ?? '');
}
