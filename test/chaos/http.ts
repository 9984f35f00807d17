import type { JobView } from '../../src/jobs/job-view.js';

export interface Answered {
  readonly kind: 'answered';
  readonly status: number;
  readonly body: unknown;
  /** When it was asked for, on `performance.now()`'s clock. */
  readonly askedAt: number;
}

/** What a client learns from one attempt. */
export type Attempt =
  | Answered
  /** Nobody was there: nothing was sent. */
  | { readonly kind: 'nobody' }
  /** It broke off, so it may have been heard or not. */
  | { readonly kind: 'lost' };

const TIMEOUT_MS = 30_000;

export async function attempt(url: string, init: RequestInit = {}): Promise<Attempt> {
  const askedAt = performance.now();
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
    const text = await response.text();
    const body: unknown = text === '' ? {} : JSON.parse(text);
    return { kind: 'answered', status: response.status, body, askedAt };
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as { code?: string };
    return { kind: code === 'ECONNREFUSED' ? 'nobody' : 'lost' };
  }
}

export function isRefusal(status: number): boolean {
  return status === 429 || status === 503 || status === 507;
}

export interface JobList {
  readonly jobs: readonly JobView[];
  readonly cursor?: string;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
