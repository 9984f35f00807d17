import type { LoadRun } from '../../src/load/load-result.js';
import { summarize } from '../../src/load/summary.js';
import { LoadProcess } from '../load-process.js';
import { type ProcessTime, readProcess } from '../threads.js';
import type { Context } from './context.js';

/** One process sends about 3,000 requests per second. */
const CONNECTIONS_PER_PROCESS = 64;
const MAX_PROCESSES = 4;

export function processesFor(concurrency: number): number {
  return Math.min(MAX_PROCESSES, Math.max(1, Math.ceil(concurrency / CONNECTIONS_PER_PROCESS)));
}

/** As long as the server has: what is measured is the server, not the patience of clients. */
export const TIMEOUT_MS = 30_000;

/** As even as it goes, and all of them. */
export function shares(total: number, parts: number): number[] {
  return Array.from(
    { length: parts },
    (_, at) => Math.floor(total / parts) + (at < total % parts ? 1 : 0),
  );
}

/** The first part of a run: clients have sent their first requests, and nothing comes back yet. */
const RAMP_SHARE = 0.1;

/** Answers per second once they come: what is measured is a server at work. */
export function steadyRate({ okAtMs, result: { seconds } }: LoadRun): number {
  const [from, to] = [seconds * 1000 * RAMP_SHARE, seconds * 1000];
  const count = okAtMs.filter((at) => at > from && at <= to).length;
  return (count * 1000) / (to - from);
}

export interface GroupResult {
  readonly perSecond: number;
  readonly ok: number;
  readonly refused: number;
  readonly failed: number;
  readonly errors: Readonly<Record<string, number>>;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** What several processes found together. */
export function mergeRuns(runs: readonly LoadRun[]): GroupResult {
  const sum = (of: (run: LoadRun) => number): number =>
    runs.reduce((total, run) => total + of(run), 0);
  const latency = summarize(runs.flatMap(({ okMs }) => [...okMs]));
  const errors: Record<string, number> = {};
  for (const { result } of runs) {
    const others = Object.entries(result.statuses).filter(
      ([status]) => !['200', '429', '503'].includes(status),
    );
    for (const [what, count] of [
      ...others,
      ...Object.entries(result.errors),
      ['gave up', result.gaveUp] as const,
    ]) {
      if (count > 0) errors[what] = (errors[what] ?? 0) + count;
    }
  }
  const [ok, refused] = [sum(({ result }) => result.ok), sum(({ result }) => result.refused)];
  return {
    perSecond: sum(steadyRate),
    ok,
    refused,
    failed: sum(({ result }) => result.sent) - ok - refused,
    errors,
    p50Ms: latency?.p50 ?? Number.NaN,
    p99Ms: latency?.p99 ?? Number.NaN,
  };
}

/** As many load generators as the largest load needs. */
export class LoadGroup {
  readonly #loads: readonly LoadProcess[];

  private constructor(loads: readonly LoadProcess[]) {
    this.#loads = loads;
  }

  static async start(
    { images, children }: Context,
    port: number,
    form: 'raw' | 'json',
    most: number,
  ): Promise<LoadGroup> {
    const url = `http://127.0.0.1:${String(port)}`;
    const loads = await Promise.all(
      Array.from({ length: processesFor(most) }, async () => {
        const load = await LoadProcess.start({ url, form, images });
        children.add(load.child);
        return load;
      }),
    );
    return new LoadGroup(loads);
  }

  async closed(concurrency: number, seconds: number): Promise<GroupResult> {
    const count = Math.min(this.#loads.length, processesFor(concurrency));
    const parts = shares(concurrency, count);
    const replies = await Promise.all(
      parts.map((part, at) =>
        (this.#loads[at] as LoadProcess).run({
          kind: 'closed',
          concurrency: part,
          seconds,
          timeoutMs: TIMEOUT_MS,
        }),
      ),
    );
    return mergeRuns(replies.map(({ run }) => run));
  }

  times(): ProcessTime[] {
    return this.#loads.map(({ pid }) => readProcess(pid, 'load generator'));
  }

  stop(): void {
    for (const load of this.#loads) load.stop();
  }
}
