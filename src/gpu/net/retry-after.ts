/** Nobody waits longer than this before an installation goes on. */
const MAX_MS = 180_000;

/** How long a busy server asks to be left alone: it says so in seconds or names a date. */
export function retryAfterMs(header: string | null, now: number): number {
  const text = header?.trim() ?? '';
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000;
  // What is no date is not a number.
  return seconds > 0 ? Math.min(MAX_MS, Math.ceil(seconds) * 1000) : 0;
}
