import { monitorEventLoopDelay } from 'node:perf_hooks';

const WINDOW_MS = 10_000;
const RESOLUTION_MS = 10;
const QUANTILES = { '0.5': 50, '0.99': 99 } as const;
export type Quantile = keyof typeof QUANTILES;

/**
 * Delay of the event loop in windows of ten seconds. Without windows a busy minute would vanish
 * in the average of a quiet day.
 */
export class EventLoopMonitor {
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  readonly #timer: NodeJS.Timeout;
  #lastWindow: Record<Quantile, number> | undefined;

  constructor() {
    this.#histogram.enable();
    this.#timer = setInterval(() => {
      this.#lastWindow = this.#read();
      this.#histogram.reset();
    }, WINDOW_MS);
    this.#timer.unref();
  }

  /** Seconds, of the last full window or, before there is one, of the time since the start. */
  get delaySeconds(): Record<Quantile, number> {
    return this.#lastWindow ?? this.#read();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#histogram.disable();
  }

  #read(): Record<Quantile, number> {
    const seconds = (percentile: number): number => {
      // What is recorded is the time from one tick of a timer to the next; its period is no delay.
      const delay = this.#histogram.percentile(percentile) / 1e9 - RESOLUTION_MS / 1000;
      return Number.isFinite(delay) ? Math.max(0, delay) : 0;
    };
    return { '0.5': seconds(QUANTILES['0.5']), '0.99': seconds(QUANTILES['0.99']) };
  }
}
