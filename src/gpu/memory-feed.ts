import type { LineEvents, LineProcess } from './line-process.js';

export interface FeedHost {
  now(): number;
  start(args: readonly string[], events: LineEvents): LineProcess;
}

const FIRST_DELAY_MS = 1000;
const MAX_DELAY_MS = 60_000;
/** One that lived this long was a good one. */
const GOOD_MS = 30_000;

/** How long to wait before the next start, after so many that did not live long. */
export function feedDelayMs(failures: number): number {
  return Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures, 16));
}

/**
 * Keeps one tool alive that writes lines: starts it again when it ends, ever more slowly, and ends
 * it when it has not written for too long. There is never a second one, even when the first cannot
 * be killed because its driver is stuck.
 */
export class MemoryFeed {
  readonly #args: readonly string[];
  readonly #silentMs: number;
  readonly #host: FeedHost;
  readonly #onLine: (line: string) => void;
  #process: LineProcess | undefined;
  #startedAt = 0;
  #heardAt = 0;
  #dueAt = -Infinity;
  #failures = 0;
  #isStopped = false;

  /** @param silentMs how long it may say nothing; `Infinity` where that is no bad sign */
  constructor(
    args: readonly string[],
    silentMs: number,
    host: FeedHost,
    onLine: (line: string) => void,
  ) {
    this.#args = args;
    this.#silentMs = silentMs;
    this.#host = host;
    this.#onLine = onLine;
  }

  /** To be called about once a second. */
  tick(): void {
    const now = this.#host.now();
    if (this.#isStopped) return;
    if (this.#process === undefined) {
      if (now >= this.#dueAt) this.#start(now);
    } else if (now - this.#heardAt > this.#silentMs) {
      this.#process.stop();
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#process?.stop();
  }

  #start(now: number): void {
    this.#startedAt = now;
    this.#heardAt = now;
    try {
      this.#process = this.#host.start(this.#args, {
        onLine: (line) => {
          this.#heardAt = this.#host.now();
          if (!this.#isStopped) this.#onLine(line);
        },
        onEnd: () => {
          this.#handleEnd();
        },
      });
    } catch {
      // No memory or no descriptors.
      this.#handleEnd();
    }
  }

  #handleEnd(): void {
    const now = this.#host.now();
    this.#process = undefined;
    this.#failures = now - this.#startedAt >= GOOD_MS ? 0 : this.#failures + 1;
    this.#dueAt = now + feedDelayMs(Math.max(0, this.#failures - 1));
  }
}
