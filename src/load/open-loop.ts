import { attempt, isRefusal, type Outcome } from './attempt.js';
import type { Connection } from './connection.js';
import type { LoadRun } from './load-result.js';
import { DEFAULT_TIMEOUT_MS, type LoadOptions, reportProgress, requestSource } from './options.js';
import { ConnectionPool } from './pool.js';
import { createRandom } from './random.js';
import { Recorder } from './recorder.js';
import { type Arrivals, arrivalTimes } from './schedule.js';

export interface OpenLoopOptions extends LoadOptions {
  /** Requests per second. */
  readonly rate: number;
  readonly arrivals?: Arrivals;
  readonly seed?: number;
  /** Open sockets; a request that would need one more is not sent, and counted. */
  readonly maxSockets?: number;
  /** The share of refused clients that honour `Retry-After` and come back once. */
  readonly retryShare?: number;
  /** Called when the last request is sent and the time is over; answers may be missing yet. */
  readonly onScheduleEnd?: (() => void) | undefined;
}

export const DEFAULT_SEED = 1;
export const DEFAULT_MAX_SOCKETS = 1024;

/**
 * Sends each request at its time, whatever became of those before. Latency counts from that time,
 * so a server that stalls is charged for everyone who came meanwhile, and so is a late generator.
 */
export function runOpenLoop(options: OpenLoopOptions): Promise<LoadRun> {
  return new Promise((resolve) => {
    new OpenLoop(options, resolve).start();
  });
}

class OpenLoop {
  readonly #options: OpenLoopOptions;
  readonly #resolve: (run: LoadRun) => void;
  readonly #times: Float64Array;
  readonly #timeoutMs: number;
  readonly #retryShare: number;
  readonly #pool: ConnectionPool;
  readonly #recorder = new Recorder();
  readonly #requestAt: ReturnType<typeof requestSource>;
  readonly #retryRandom: () => number;
  readonly #waitingRetries = new Map<NodeJS.Timeout, Connection>();
  #start = 0;
  #endMs: number;
  #next = 0;
  #outstanding = 0;
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;
  #stopReports: () => void = () => undefined;

  constructor(options: OpenLoopOptions, resolve: (run: LoadRun) => void) {
    const { rate, seconds, arrivals = 'poisson', seed = DEFAULT_SEED } = options;
    this.#options = options;
    this.#resolve = resolve;
    this.#times = arrivalTimes({ arrivals, rate, seconds, seed });
    this.#endMs = seconds * 1000;
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#retryShare = options.retryShare ?? 0;
    this.#pool = new ConnectionPool(options.target, options.maxSockets ?? DEFAULT_MAX_SOCKETS);
    this.#requestAt = requestSource(options);
    this.#retryRandom = createRandom(~seed);
  }

  start(): void {
    const { signal } = this.#options;
    this.#start = performance.now();
    this.#stopReports = reportProgress(this.#options, this.#recorder, () => this.#now());
    if (signal?.aborted === true) this.#abort();
    else this.#tick();
    signal?.addEventListener('abort', this.#abort, { once: true });
  }

  #now(): number {
    return performance.now() - this.#start;
  }

  /** Sends all that are due, then sleeps until the next one is. */
  readonly #tick = (): void => {
    if (this.#isOver) return;
    const now = this.#now();
    while (this.#next < this.#times.length && (this.#times[this.#next] as number) <= now) {
      this.#arrive(this.#next++);
    }
    const next = this.#times[this.#next] ?? this.#endMs;
    const delay = next - this.#now();
    if (this.#next >= this.#times.length && delay <= 0) this.#endSchedule();
    // Answers must be read even by a generator that cannot keep up.
    else if (delay <= 0) setImmediate(this.#tick);
    else this.#timer = setTimeout(this.#tick, Math.ceil(delay));
  };

  #arrive(index: number): void {
    // Drawn for each, sent or not, so that the same ones come back for the same seed.
    const honours = this.#retryRandom() < this.#retryShare;
    const connection = this.#pool.acquire();
    if (connection === undefined) {
      this.#recorder.unsent();
      return;
    }
    const dueMs = this.#times[index] as number;
    this.#recorder.sent(this.#now() - dueMs);
    this.#send(index, connection, dueMs, (outcome, atMs) => {
      this.#recorder.ended(outcome, atMs - dueMs, atMs);
      const retryAfter = honours ? retryAfterOf(outcome) : undefined;
      if (retryAfter === undefined) this.#pool.release(connection);
      else this.#planRetry(index, connection, atMs + retryAfter * 1000);
    });
  }

  #planRetry(index: number, connection: Connection, dueMs: number): void {
    this.#recorder.countRetry('honoured');
    if (this.#isOver || dueMs >= this.#endMs) {
      this.#recorder.countRetry('pending');
      this.#pool.release(connection);
      return;
    }
    const timer = setTimeout(
      () => {
        this.#waitingRetries.delete(timer);
        this.#retry(index, connection, dueMs);
      },
      Math.ceil(dueMs - this.#now()),
    );
    this.#waitingRetries.set(timer, connection);
  }

  #retry(index: number, kept: Connection, dueMs: number): void {
    const isKept = kept.isReusableAt(performance.now());
    if (!isKept) kept.destroy();
    const connection = isKept ? kept : this.#pool.acquire();
    if (connection === undefined) {
      this.#recorder.countRetry('failed');
      this.#finishIfDone();
      return;
    }
    this.#send(index, connection, dueMs, (outcome, atMs) => {
      this.#recorder.retryEnded(outcome, atMs - dueMs, atMs);
      this.#pool.release(connection);
    });
  }

  #send(
    index: number,
    connection: Connection,
    dueMs: number,
    done: (outcome: Outcome, atMs: number) => void,
  ): void {
    this.#outstanding++;
    const deadline = this.#start + dueMs + this.#timeoutMs;
    attempt(connection, this.#requestAt(index), deadline, (outcome, at) => {
      this.#outstanding--;
      done(outcome, at - this.#start);
      this.#finishIfDone();
    });
  }

  readonly #abort = (): void => {
    if (this.#isOver) return;
    this.#endMs = Math.min(this.#endMs, this.#now());
    for (const [timer, connection] of this.#waitingRetries) {
      clearTimeout(timer);
      this.#recorder.countRetry('pending');
      this.#pool.release(connection);
    }
    this.#waitingRetries.clear();
    this.#endSchedule();
  };

  #endSchedule(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#options.onScheduleEnd?.();
    this.#finishIfDone();
  }

  #finishIfDone(): void {
    if (!this.#isOver || this.#outstanding > 0 || this.#waitingRetries.size > 0) return;
    this.#stopReports();
    this.#options.signal?.removeEventListener('abort', this.#abort);
    this.#pool.closeAll();
    this.#resolve(this.#recorder.finish(this.#endMs / 1000, this.#now() / 1000));
  }
}

function retryAfterOf(outcome: Outcome): number | undefined {
  return isRefusal(outcome) && outcome.kind === 'answer'
    ? outcome.head.retryAfterSeconds
    : undefined;
}
