import { getPriority, setPriority } from 'node:os';
import type { LoadRun } from '../src/load/load-result.js';
import { JobsClient } from './jobs-client.js';
import { LoadProcess } from './load-process.js';
import { percentile } from './report.js';
import { BenchServer } from './server.js';

export interface LatencyOptions {
  readonly root: string;
  readonly images: readonly Buffer[];
  /** Of one phase. */
  readonly seconds: number;
  readonly rounds: number;
  /** Of what the server can do. */
  readonly share: number;
  /** For the server without jobs and for the one with a backlog. */
  readonly flags: readonly [without: readonly string[], beside: readonly string[]];
  readonly tell: (text: string) => void;
}

/** Interactive requests in one kind of phase. */
export interface Phase {
  readonly p50: number;
  readonly p95: number;
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
}

const CONCURRENCY = 16;
const WARM_UP_SECONDS = 8;
/** What comes at the beginning of a phase tells the server about its traffic, and is not counted. */
const SETTLING_MS = 1500;
const CLIENT = { timeoutMs: 2000, retryShare: 0 };
/** In reality clients have cores of their own. */
const GENERATOR_PRIORITY = -10;

/**
 * What a backlog costs those who wait for an answer. Two servers, one with a backlog, take turns of
 * a few seconds; the other one is stopped meanwhile. So whatever else happens on the machine
 * happens to both.
 */
export async function measureLatency(options: LatencyOptions): Promise<LatencyFindings> {
  const { root, images, seconds, rounds, share, tell } = options;
  const sides: Side[] = [];
  try {
    for (const flags of options.flags) sides.push(await Side.start(root, flags, images));
    const [without, beside] = sides;
    if (without === undefined || beside === undefined) throw new Error('there are two servers');
    tell('warming up, then finding the peak');
    for (const side of [beside, without]) await side.saturate();
    const peak = await without.saturate();
    const rate = share * peak;
    tell(`peak ${peak.toFixed(1)}/s, interactive requests ${rate.toFixed(1)}/s`);
    const count = Math.ceil(peak * (seconds * rounds + 20));
    await beside.jobs.fill(images, count);
    tell(`${String(count)} jobs wait`);

    const runs = { without: [] as LoadRun[], beside: [] as LoadRun[] };
    let [jobs, jobMs] = [0, 0];
    beside.pause();
    for (let round = 0; round < rounds; round++) {
      const order = { kind: 'open', rate, seconds, seed: round + 1, ...CLIENT } as const;
      runs.without.push((await without.load.run(order)).run);
      without.pause();
      beside.resume();
      const [before, started] = [await beside.jobs.attempts(), performance.now()];
      runs.beside.push((await beside.load.run(order)).run);
      jobs += (await beside.jobs.attempts()) - before;
      jobMs += performance.now() - started;
      beside.pause();
      without.resume();
      if ((round + 1) % 4 === 0) {
        tell(
          `round ${String(round + 1)}: ${toText(runs.without)}, beside jobs ${toText(runs.beside)}`,
        );
      }
    }
    return {
      peak,
      rate,
      without: toPhase(runs.without),
      beside: toPhase(runs.beside),
      jobsPerSecond: (jobs * 1000) / jobMs,
    };
  } finally {
    for (const side of sides) await side.stop();
  }
}

/** A server with its clients. */
class Side {
  readonly #server: BenchServer;
  readonly load: LoadProcess;
  readonly jobs: JobsClient;

  private constructor(server: BenchServer, load: LoadProcess) {
    this.#server = server;
    this.load = load;
    this.jobs = new JobsClient(server.port);
  }

  static async start(
    root: string,
    flags: readonly string[],
    images: readonly Buffer[],
  ): Promise<Side> {
    const server = await BenchServer.start(root, flags);
    const url = `http://127.0.0.1:${String(server.port)}`;
    const load = await preferred(() => LoadProcess.start({ url, form: 'raw', images }));
    return new Side(server, load);
  }

  async saturate(): Promise<number> {
    const order = { kind: 'closed', concurrency: CONCURRENCY, seconds: WARM_UP_SECONDS } as const;
    return (await this.load.run(order)).run.result.goodput;
  }

  pause(): void {
    this.#signal('SIGSTOP');
  }

  resume(): void {
    this.#signal('SIGCONT');
  }

  async stop(): Promise<void> {
    this.load.stop();
    this.resume();
    await this.#server.stop();
  }

  #signal(signal: NodeJS.Signals): void {
    for (const pid of [this.#server.httpPid, ...this.#server.enginePids]) process.kill(pid, signal);
  }
}

/** What is started within gets its cores first, where that is allowed. */
async function preferred<T>(start: () => Promise<T>): Promise<T> {
  const before = getPriority();
  try {
    setPriority(GENERATOR_PRIORITY);
  } catch {
    return start();
  }
  try {
    return await start();
  } finally {
    setPriority(before);
  }
}

function timesOf({ okMs, okAtMs }: LoadRun): number[] {
  return [...okMs].filter((ms, at) => (okAtMs[at] ?? 0) - ms >= SETTLING_MS);
}

function toPhase(runs: readonly LoadRun[]): Phase {
  const times = runs.flatMap(timesOf);
  return {
    p50: percentile(times, 50),
    p95: percentile(times, 95),
    p99: percentile(times, 99),
    answered: times.length,
    failed: runs.reduce((sum, { result }) => sum + result.offered - result.ok, 0),
    latenessP99: percentile(
      runs.map(({ result }) => result.latenessP99Ms),
      50,
    ),
  };
}

function toText(runs: readonly LoadRun[]): string {
  const { p50, p99 } = toPhase(runs);
  return `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
}
