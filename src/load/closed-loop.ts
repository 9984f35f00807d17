import { attempt, isOk } from './attempt.js';
import type { LoadRun } from './load-result.js';
import { DEFAULT_TIMEOUT_MS, type LoadOptions, reportProgress, requestSource } from './options.js';
import { ConnectionPool } from './pool.js';
import { Recorder } from './recorder.js';

export interface ClosedLoopOptions extends LoadOptions {
  /** Clients, each with one request at a time. */
  readonly concurrency: number;
}

/** After anything but a 200, so that clients of a server that refuses do not spin. */
const PAUSE_MS = 10;

/**
 * Each client sends the next request when it has an answer. This finds the most a server can do;
 * it says little about latency, since clients wait when the server is slow.
 */
export async function runClosedLoop(options: ClosedLoopOptions): Promise<LoadRun> {
  const { target, seconds, concurrency, timeoutMs = DEFAULT_TIMEOUT_MS, signal } = options;
  const pool = new ConnectionPool(target, concurrency);
  const requestAt = requestSource(options);
  const recorder = new Recorder();
  const start = performance.now();
  const now = (): number => performance.now() - start;
  let endMs = seconds * 1000;
  let next = 0;

  const abort = (): void => {
    endMs = Math.min(endMs, now());
  };
  if (signal?.aborted === true) abort();
  signal?.addEventListener('abort', abort, { once: true });
  const stopReports = reportProgress(options, recorder, now);

  const client = (done: () => void): void => {
    const send = (): void => {
      if (now() >= endMs) {
        done();
        return;
      }
      const connection = pool.acquire();
      if (connection === undefined) {
        // A refused body is still on its way out.
        setTimeout(send, PAUSE_MS);
        return;
      }
      const sentMs = now();
      recorder.sent(0);
      attempt(connection, requestAt(next++), start + sentMs + timeoutMs, (outcome, at) => {
        recorder.ended(outcome, at - start - sentMs, at - start);
        pool.release(connection);
        if (isOk(outcome)) send();
        else setTimeout(send, PAUSE_MS);
      });
    };
    send();
  };
  await Promise.all(
    Array.from(
      { length: concurrency },
      () =>
        new Promise<void>((resolve) => {
          client(resolve);
        }),
    ),
  );

  stopReports();
  signal?.removeEventListener('abort', abort);
  pool.closeAll();
  return recorder.finish(endMs / 1000, now() / 1000);
}
