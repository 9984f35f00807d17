/** An engine that ran at least this long is forgiven its earlier crashes. */
const STABLE_AFTER_MS = 10_000;
const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 10_000;

export interface RestartState {
  /** Crashes in a row without a stable run in between. */
  readonly crashes: number;
}

export const NO_CRASHES: RestartState = { crashes: 0 };

/**
 * When to start the next engine after one has ended. The first crash is met at once, since most
 * are one bad image; a crash loop is slowed down to one attempt in ten seconds.
 */
export function afterCrash(
  state: RestartState,
  ranForMs: number,
): { readonly state: RestartState; readonly delayMs: number } {
  const crashes = (ranForMs >= STABLE_AFTER_MS ? 0 : state.crashes) + 1;
  const backoff = FIRST_BACKOFF_MS * 2 ** (crashes - 2);
  return {
    state: { crashes },
    delayMs: crashes === 1 ? 0 : Math.min(backoff, MAX_BACKOFF_MS),
  };
}
