import { detailOf, reasonOf } from '../answers.js';
import { printable } from './output.js';

/** As far as a server's problem is one; anything may answer at an address. */
export interface SeenProblem {
  readonly code: string;
  readonly detail: string;
  readonly [field: string]: unknown;
}

/** The server answered, but not with what was asked for. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly problem: SeenProblem;
  readonly retryAfterMs: number | undefined;
  /** Without advice. */
  readonly brief: string;

  constructor(status: number, body: string, retryAfterMs?: number) {
    const problem = problemOf(status, body);
    const brief = problemText(problem);
    super(brief + adviceOn(status, problem));
    this.brief = brief;
    this.status = status;
    this.problem = problem;
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * The server lives, but ends this one connection again and again: a body that is too large is
 * often answered before it was sent, and then the answer is lost.
 */
export class HangUp extends Error {
  override readonly name = 'HangUp';
  readonly problem: SeenProblem = {
    code: 'connection_closed',
    detail:
      'The server closes the connection while this is sent: it may be too large, or take longer than --timeout.',
  };
}

/** Nothing came back, or not all of it. */
export class Silence extends Error {
  override readonly name = 'Silence';
  readonly brief: string;

  constructor(server: URL, cause: unknown) {
    const reason = reasonOf(cause);
    const isNobody = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN)$/.test(reason);
    const brief = `${isNobody ? `no server runs at ${server.origin}` : `${server.origin} does not answer`} (${reason})`;
    const advice = '; start one with "shoal serve", or say where it is with --url';
    super(isNobody ? brief + advice : brief, { cause });
    this.brief = brief;
  }
}

export function problemText({ code, detail }: { code: string; detail: string }): string {
  return printable(`${detail.replace(/\.$/, '')} (${code})`);
}

function problemOf(status: number, body: string): SeenProblem {
  try {
    const value = JSON.parse(body) as Partial<SeenProblem> | null;
    if (typeof value?.code === 'string' && typeof value.detail === 'string') {
      return value as SeenProblem;
    }
  } catch {
    // Not JSON: a proxy, or another server.
  }
  return { code: `status_${String(status)}`, detail: detailOf(body) };
}

function adviceOn(status: number, { code }: SeenProblem): string {
  if (status === 401) return '; give a key with --api-key';
  const isRoute = code === 'not_found' || code === 'status_404';
  return isRoute ? '; is this a Shoal server that takes jobs?' : '';
}
