import type { Summary } from './summary.js';

/** What a run found; plain JSON. Times are milliseconds. */
export interface LoadResult {
  /** How long requests were sent; rates are per second of this time. */
  readonly seconds: number;
  /** With the time until the last answer. */
  readonly elapsedSeconds: number;
  /** Requests that were due, without retries: `sent + unsent`. */
  readonly offered: number;
  readonly offeredPerSecond: number;
  /** Each of these is in `statuses`, `gaveUp` or `errors`. */
  readonly sent: number;
  /** Due when all connections were busy. */
  readonly unsent: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly ok: number;
  /** 429 and 503. */
  readonly refused: number;
  /** Clients that hung up because there was no answer in time. */
  readonly gaveUp: number;
  readonly errors: Readonly<Record<string, number>>;
  /**
   * Answers with status 200 per second, retries included. Those that came after the end of the run
   * do not count: the server had more time for them than the run is long.
   */
  readonly goodput: number;
  /** Of answers with status 200, since the request was due. */
  readonly latencyMs: Summary | null;
  readonly refusalMs: Summary | null;
  readonly retries: RetryResult;
  /** How late requests were sent; where this is large, the generator was the bottleneck. */
  readonly latenessP99Ms: number;
  readonly cpuMsPerRequest: number;
  /** By the second in which the answer came or the client gave up; the last may be after the run. */
  readonly perSecond: readonly SecondResult[];
}

/** Refused clients that honoured `Retry-After` and came back once. */
export interface RetryResult {
  /** The sum of the others. */
  readonly honoured: number;
  readonly admitted: number;
  readonly refusedAgain: number;
  readonly gaveUp: number;
  /** Any other status, a broken connection, or no connection to be had. */
  readonly failed: number;
  /** Told to come back after the end of the run, and so did not. */
  readonly pending: number;
  readonly latencyMs: Summary | null;
}

export interface SecondResult {
  readonly ok: number;
  readonly refused: number;
  readonly gaveUp: number;
}

/** A result with the durations behind it. */
export interface LoadRun {
  readonly result: LoadResult;
  /** Latencies of answers with status 200, in the order of the answers. */
  readonly okMs: Float64Array;
  /** When each of those came, in ms since the start. */
  readonly okAtMs: Float64Array;
  readonly refusalMs: Float64Array;
}

/** Where a run stands. */
export interface Progress {
  readonly seconds: number;
  readonly sent: number;
  readonly ok: number;
  readonly refused: number;
  readonly gaveUp: number;
}
