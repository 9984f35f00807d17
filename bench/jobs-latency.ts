import type { LoadRun } from '../src/load/load-result.js';
import { JobsClient } from './jobs-client.js';
import { LoadProcess } from './load-process.js';
import { percentile } from './report.js';
import { BenchServer } from './server.js';

export interface LatencyOptions {
  readonly root: string;
  readonly images: readonly Buffer[];
  readonly seconds: number;
  readonly rounds: number;
  /** Of what the server can do. */
  readonly share: number;
  readonly flags: readonly string[];
  readonly tell: (text: string) => void;
}

/** Interactive requests in one kind of phase. */
export interface Phase {
  readonly p50: number;
  readonly p99: number;
  readonly answered: number;
  readonly failed: number;
  readonly latenessP99: number;
}

export interface LatencyFindings {
  /** Answers per second of a closed loop. */
  readonly peak: number;
  readonly rate: number;
  readonly without: Phase;
  readonly beside: Phase;
  readonly jobsPerSecond: number;
  /** Of each round, p99 beside the backlog over p99 without. */
  readonly ratios: readonly number[];
}

const CONCURRENCY = 16;
const WARM_UP_SECONDS = 10;
const CLIENT = { timeoutMs: 2000, retryShare: 0 };

/** What a backlog costs those who wait for an answer: phases without and with one, in turn. */
export async function measureLatency(options: LatencyOptions): Promise<LatencyFindings> {
  const { root, images, seconds, rounds, share, tell } = options;
  const server = await BenchServer.start(root, [...options.flags]);
  const url = `http://127.0.0.1:${String(server.port)}`;
  const load = await LoadProcess.start({ url, form: 'raw', images });
  const jobs = new JobsClient(server.port);
  try {
    tell('warming up, then finding the peak');
    await load.run({ kind: 'closed', concurrency: CONCURRENCY, seconds: WARM_UP_SECONDS });
    const { run: closed } = await load.run({
      kind: 'closed',
      concurrency: CONCURRENCY,
      seconds: WARM_UP_SECONDS,
    });
    const peak = closed.result.goodput;
    const rate = share * peak;
    tell(`peak ${peak.toFixed(1)}/s, interactive requests ${rate.toFixed(1)}/s`);

    const runs = { without: [] as LoadRun[], beside: [] as LoadRun[] };
    const jobRates: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const phase = async (): Promise<LoadRun> =>
        (await load.run({ kind: 'open', rate, seconds, seed: round + 1, ...CLIENT })).run;
      const without = await phase();
      // More than can be done meanwhile.
      const ids = await jobs.fill(images, Math.ceil(peak * (seconds + 10)));
      const [before, started] = [await jobs.attempts(), performance.now()];
      const beside = await phase();
      jobRates.push(((await jobs.attempts()) - before) / ((performance.now() - started) / 1000));
      await jobs.cancel(ids);
      await load.run({ kind: 'closed', concurrency: 1, seconds: 2 });
      runs.without.push(without);
      runs.beside.push(beside);
      const [a, b] = [without, beside].map(({ okMs }) => percentile([...okMs], 99));
      tell(
        `round ${String(round + 1)}: p99 ${(a ?? 0).toFixed(1)} ms, beside jobs ${(b ?? 0).toFixed(1)} ms`,
      );
    }
    return {
      peak,
      rate,
      without: toPhase(runs.without),
      beside: toPhase(runs.beside),
      jobsPerSecond: jobRates.reduce((sum, one) => sum + one, 0) / jobRates.length,
      ratios: runs.without.map(
        (run, at) =>
          percentile([...(runs.beside[at]?.okMs ?? [])], 99) / percentile([...run.okMs], 99),
      ),
    };
  } finally {
    load.stop();
    await server.stop();
  }
}

function toPhase(runs: readonly LoadRun[]): Phase {
  const times = runs.flatMap(({ okMs }) => [...okMs]);
  return {
    p50: percentile(times, 50),
    p99: percentile(times, 99),
    answered: times.length,
    failed: runs.reduce((sum, { result }) => sum + result.offered - result.ok, 0),
    latenessP99: Math.max(...runs.map(({ result }) => result.latenessP99Ms)),
  };
}
