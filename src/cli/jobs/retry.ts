import { Refusal, Silence } from './failures.js';

/**
 * What a failure says about the server. `busy`: it lives and wants to be asked later. `away`: it
 * may come back. `final`: it would say the same again.
 */
export type Trouble = 'busy' | 'away' | 'final';

export function troubleOf(error: unknown): Trouble {
  if (error instanceof Silence) return 'away';
  if (!(error instanceof Refusal)) return 'final';
  switch (error.status) {
    // No room is a matter of time, too: jobs end and are removed.
    case 429:
    case 507:
      return 'busy';
    case 408:
    case 502:
    case 503:
    case 504:
      return 'away';
    default:
      return 'final';
  }
}

export interface RetryState {
  readonly trouble: Trouble;
  /** Failures so far, this one included. */
  readonly failures: number;
  /** How long the server has been away. */
  readonly awayMs: number;
  readonly patienceMs: number;
  /** What the server asked for. */
  readonly retryAfterMs: number | undefined;
  /** From 0 to 1. */
  readonly random: number;
}

const FIRST_MS = 250;
const LONGEST_BUSY_MS = 15_000;
/** A server that restarts should not wait for its clients. */
const LONGEST_AWAY_MS = 2000;
const JITTER = 0.25;

/**
 * How long to wait before the next try; `undefined` to give up. Never less than the server asked
 * for, and spread, so that those refused together do not come back together.
 */
export function nextDelay(state: RetryState): number | undefined {
  const { trouble, failures, awayMs, patienceMs, retryAfterMs = 0, random } = state;
  if (trouble === 'final') return undefined;
  const leftMs = trouble === 'busy' ? Infinity : patienceMs - awayMs;
  if (leftMs <= 0) return undefined;
  const longest = trouble === 'busy' ? LONGEST_BUSY_MS : LONGEST_AWAY_MS;
  const backOff = Math.min(longest, FIRST_MS * 2 ** (failures - 1));
  return Math.max(retryAfterMs, backOff) * (1 + JITTER * random);
}

/** `Retry-After` is seconds or a date. */
export function parseRetryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
