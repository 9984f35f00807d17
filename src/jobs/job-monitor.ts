import type { Metrics } from '../telemetry/metrics.js';
import { JOB_STATES } from './job.js';
import type { JobStore, StoreStats } from './job-store.js';

const REFRESH_MS = 2000;
/** Jobs that wait this long while nothing moves are stuck. */
const STUCK_MS = 60_000;

/** What the monitor must know about those who run jobs here. */
export interface RunnerState {
  readonly model: { readonly name: string; readonly engine: { readonly isReady: boolean } };
  /** It takes nothing, and not because something is wrong with it. */
  readonly isHeld: boolean;
  readonly slots: number;
  readonly active: number;
  /** On `performance.now()`'s clock. */
  readonly movedAt: number;
}

/**
 * Whether jobs wait here although somebody could run them. That is what a queue looks like whose
 * connections are fine and whose consumer is dead, so it is jobs that are watched.
 */
export function isStuck(
  runner: RunnerState,
  waiting: StoreStats['waiting'],
  now: { readonly time: number; readonly clock: number },
): boolean {
  const { count, since } = waiting[runner.model.name] ?? { count: 0, since: now.time };
  if (runner.isHeld) return false;
  const hasRoom = runner.active < runner.slots && runner.model.engine.isReady;
  const isWaiting = count > 0 && now.time - since > STUCK_MS;
  return hasRoom && isWaiting && now.clock - runner.movedAt > STUCK_MS;
}

/** Looks at the store now and then, for metrics, health and readiness. */
export class JobMonitor {
  readonly #store: JobStore;
  readonly #runners: () => readonly RunnerState[];
  readonly #timer: NodeJS.Timeout;
  #stats: StoreStats | undefined;
  #isRefreshing = false;

  constructor(store: JobStore, metrics: Metrics, runners: () => readonly RunnerState[]) {
    this.#store = store;
    this.#runners = runners;
    this.#timer = setInterval(() => {
      void this.refresh();
    }, REFRESH_MS);
    this.#timer.unref();
    metrics.onCollect(() => {
      this.#setGauges(metrics);
    });
  }

  get stats(): StoreStats | undefined {
    return this.#stats;
  }

  /** Why jobs cannot be relied on at the moment; `undefined` when they can. */
  get trouble(): string | undefined {
    const { isUp, detail } = this.#store.status;
    if (!isUp) return detail;
    const waiting = this.#stats?.waiting ?? {};
    const now = { time: Date.now(), clock: performance.now() };
    const stuck = this.#runners().find((runner) => isStuck(runner, waiting, now));
    return stuck === undefined ? undefined : `Jobs for ${stuck.model.name} wait and do not move.`;
  }

  get oldestWaitingMs(): number {
    const since = Object.values(this.#stats?.waiting ?? {}).map((one) => one.since);
    return since.length === 0 ? 0 : Math.max(0, Date.now() - Math.min(...since));
  }

  async refresh(): Promise<void> {
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    try {
      this.#stats = await this.#store.stats();
    } catch {
      // Its status says so; what was known last is shown until it is back.
    }
    this.#isRefreshing = false;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #setGauges(metrics: Metrics): void {
    metrics.set('shoal_job_store_up', {}, this.#store.status.isUp ? 1 : 0);
    if (this.#stats === undefined) return;
    for (const state of JOB_STATES) metrics.set('shoal_jobs', { state }, this.#stats.jobs[state]);
    metrics.set('shoal_jobs_oldest_waiting_seconds', {}, this.oldestWaitingMs / 1000);
    metrics.set('shoal_job_store_bytes', {}, this.#stats.bytes);
    metrics.set('shoal_webhooks_pending', {}, this.#stats.webhooksPending);
  }
}
