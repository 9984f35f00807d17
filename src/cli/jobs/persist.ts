import type { Clock } from './context.js';
import { Refusal, type Silence } from './failures.js';
import { nextDelay, troubleOf } from './retry.js';

export interface Persistence {
  readonly clock: Clock;
  /** How long a server may be away. */
  readonly patienceMs: number;
  readonly signal: AbortSignal;
  /** Is told about every wait. */
  onTrouble(error: Refusal | Silence, delayMs: number): void;
}

/** Tries until it works or there is no point in going on. What is tried must bear repetition. */
export async function persist<T>(attempt: () => Promise<T>, how: Persistence): Promise<T> {
  const { clock, patienceMs, signal } = how;
  let failures = 0;
  let awaySince: number | undefined;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      const trouble = troubleOf(error);
      const now = clock.now();
      failures++;
      // Whoever is busy is not away.
      awaySince = trouble === 'away' ? (awaySince ?? now) : undefined;
      const delayMs = nextDelay({
        trouble,
        failures,
        awayMs: now - (awaySince ?? now),
        patienceMs,
        retryAfterMs: error instanceof Refusal ? error.retryAfterMs : undefined,
        random: clock.random(),
      });
      if (delayMs === undefined) throw error;
      how.onTrouble(error as Refusal | Silence, delayMs);
      await clock.sleep(delayMs, signal);
    }
  }
}
