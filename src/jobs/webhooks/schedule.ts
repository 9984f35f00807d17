const FIRST_DELAY_MS = 5000;
const LONGEST_DELAY_MS = 3_600_000;
/** Delays double up to an hour: ten in the first 85 minutes, then twelve hourly ones. */
export const MAX_ATTEMPTS = 23;
/** Delays are shortened by up to this share, so that jobs that ended together spread. */
const JITTER = 0.2;

/**
 * How long to wait after this attempt has failed; `undefined` when it was the last one.
 * @param attempt 1 for the first
 * @param random from 0 to 1
 * @param retryAfterMs what the receiver asked for
 */
export function nextDelayMs(attempt: number, random: number, retryAfterMs = 0): number | undefined {
  if (attempt >= MAX_ATTEMPTS) return undefined;
  const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1));
  const asked = Math.min(LONGEST_DELAY_MS, retryAfterMs);
  return Math.round(Math.max(delay * (1 - JITTER * random), asked));
}

/** The header `Retry-After`, seconds or a date, as a time from now; at most an hour. */
export function parseRetryAfter(text: string | undefined, now: number): number | undefined {
  const trimmed = text?.trim() ?? '';
  const ms = /^\d+$/.test(trimmed)
    ? Number(trimmed) * 1000
    : HTTP_DATE.test(trimmed)
      ? Date.parse(trimmed) - now
      : Number.NaN;
  return Number.isNaN(ms) ? undefined : Math.min(LONGEST_DELAY_MS, Math.max(0, ms));
}

/** The one form that may be sent today. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
