import type { Connection, Reply } from './connection.js';

export type Outcome = Reply | { readonly kind: 'gaveUp' };

const GAVE_UP: Outcome = { kind: 'gaveUp' };

/**
 * Sends a request and waits for its answer until the deadline; then it hangs up, as an impatient
 * client does.
 * @param done called exactly once, with the time
 */
export function attempt(
  connection: Connection,
  request: { readonly head: Buffer; readonly body: Buffer },
  deadline: number,
  done: (outcome: Outcome, at: number) => void,
): void {
  const giveUp = (): void => {
    connection.destroy();
    done(GAVE_UP, performance.now());
  };
  // Whole milliseconds: Node.js keeps a list of timers per duration.
  const timer = setTimeout(giveUp, Math.ceil(deadline - performance.now()));
  connection.send(request.head, request.body, (reply) => {
    clearTimeout(timer);
    const now = performance.now();
    // The timer may be late, but the client would have gone.
    if (now > deadline) giveUp();
    else done(reply, now);
  });
}

/** Refused because the server is at its limit, not because the request is wrong. */
export function isRefusal(outcome: Outcome): boolean {
  return outcome.kind === 'answer' && (outcome.head.status === 429 || outcome.head.status === 503);
}

export function isOk(outcome: Outcome): boolean {
  return outcome.kind === 'answer' && outcome.head.status === 200;
}
