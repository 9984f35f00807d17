import { type CapacityStep, nextRate } from '../load/capacity.js';
import { figure } from '../load/chart.js';
import type { LoadResult } from '../load/load-result.js';
import { type OpenLoopOptions, runOpenLoop } from '../load/open-loop.js';
import type { BenchArgs } from './bench-args.js';
import { ProgressLine } from './bench-progress.js';
import type { RatedRun } from './bench-report.js';

/** What a server must answer with 200 in time to be said to keep up. */
const OK_SHARE = 0.99;
const SEARCH = { startRate: 10, minRate: 0.5, maxRate: 50_000, tolerance: 0.05 };

/** What is the same in all runs. */
type Fixed = Pick<OpenLoopOptions, 'target' | 'requests' | 'signal'>;

export interface Measured {
  readonly runs: readonly RatedRun[];
  /** Where it was searched: the steps, and what was found. */
  readonly steps?: readonly CapacityStep[];
}

/** Runs at each rate, or searches; tells about it on standard error. */
export async function measure(args: BenchArgs, fixed: Fixed): Promise<Measured> {
  const progress = new ProgressLine(process.stderr);
  const runs: RatedRun[] = [];
  const runAt = async (rate: number): Promise<LoadResult> => {
    const run = await runOpenLoop({
      ...fixed,
      rate,
      seconds: args.seconds,
      arrivals: args.arrivals,
      seed: args.seed,
      timeoutMs: args.timeoutMs,
      retryShare: args.retryShare,
      maxSockets: args.connections,
      onProgress: ({ seconds, ok, refused, gaveUp }) => {
        progress.draw(
          `${figure(rate)}/s: ${seconds.toFixed(0)} of ${String(args.seconds)} s, ` +
            `${String(ok)} ok, ${String(refused)} refused, ${String(gaveUp)} gave up`,
        );
      },
    });
    runs.push({ rate, run });
    return run.result;
  };
  const isStopped = (): boolean => fixed.signal?.aborted === true;

  for (const rate of args.rates) {
    if (isStopped()) break;
    const result = await runAt(rate);
    progress.done(`${figure(rate)}/s: goodput ${figure(result.goodput)}/s`);
  }
  if (args.rates.length > 0) return { runs };

  const steps: CapacityStep[] = [];
  for (let next = nextRate(steps, SEARCH); next !== undefined; next = nextRate(steps, SEARCH)) {
    const rate = Number(next.toPrecision(3));
    const result = await runAt(rate);
    // A run that was cut short proves nothing.
    if (isStopped()) break;
    const isGood = keepsUp(result, args.sloP99Ms);
    steps.push({ rate, isGood });
    const share = ((result.ok / Math.max(1, result.offered)) * 100).toFixed(1);
    progress.done(
      `${figure(rate)}/s: ${share} % answered in time, ` +
        `p99 ${result.latencyMs === null ? 'unknown' : `${figure(result.latencyMs.p99)} ms`}: ` +
        (isGood ? 'keeps up' : 'too much'),
    );
  }
  return { runs, steps };
}

function keepsUp({ ok, offered, latencyMs }: LoadResult, sloP99Ms: number | undefined): boolean {
  // Poisson arrivals may leave a short run at a low rate without any; nothing failed then.
  if (offered === 0) return true;
  if (ok < OK_SHARE * offered) return false;
  return sloP99Ms === undefined || (latencyMs !== null && latencyMs.p99 <= sloP99Ms);
}
