import { join } from 'node:path';
import { JobsClient } from './jobs-client.js';
import { rawInserts, rawSets } from './jobs-limits.js';
import { submitJobs } from './jobs-submitter.js';
import { percentile } from './report.js';
import { BenchServer } from './server.js';

export interface ThroughputOptions {
  readonly root: string;
  readonly folder: string;
  /** A model that takes no time. */
  readonly model: string;
  readonly image: Buffer;
  /** `undefined`: embedded. */
  readonly redisUrl: string | undefined;
  readonly seconds: number;
  readonly rounds: number;
  readonly tell: (text: string) => void;
}

export interface ThroughputRound {
  /** Raw writes per second, before and after. */
  readonly limit: number;
  /** Jobs per second that were accepted while nobody ran any. */
  readonly submitted: number;
  readonly submitP99: number;
  /** The same while they were run. */
  readonly submittedBeside: number;
  readonly completedBeside: number;
  /** Of the backlog that this left. */
  readonly drained: number;
  readonly refused: number;
}

const CONCURRENCY = 32;
const LIMIT_SECONDS = 2;

export async function measureThroughput(options: ThroughputOptions): Promise<ThroughputRound[]> {
  const found: ThroughputRound[] = [];
  for (let round = 0; round < options.rounds; round++) {
    const one = await measureRound(options, round);
    const name = options.redisUrl === undefined ? 'embedded' : 'redis';
    options.tell(`${name}, round ${String(round + 1)}: ${one.submitted.toFixed(0)} jobs/s`);
    found.push(one);
  }
  return found;
}

async function measureRound(options: ThroughputOptions, round: number): Promise<ThroughputRound> {
  const { image, seconds } = options;
  const start = (name: string, ...flags: string[]): Promise<BenchServer> =>
    startServer(options, `${name}-${String(round)}`, flags);
  const order = { image, concurrency: CONCURRENCY, seconds };
  const before = await measureLimit(options);

  const taker = await start('taker', '--no-worker');
  await submitJobs({ ...order, port: taker.port, seconds: 2 });
  const alone = await submitJobs({ ...order, port: taker.port });
  await taker.stop();

  const server = await start('runner');
  const jobs = new JobsClient(server.port);
  await submitJobs({ ...order, port: server.port, seconds: 2 });
  const [ran, from] = [await jobs.attempts(), performance.now()];
  const beside = await submitJobs({ ...order, port: server.port });
  const [then, at] = [await jobs.attempts(), performance.now()];
  const drained = await drainRate(jobs);
  await server.stop();
  return {
    limit: (before + (await measureLimit(options))) / 2,
    submitted: alone.accepted / alone.seconds,
    submitP99: percentile(alone.latenciesMs, 99),
    submittedBeside: beside.accepted / beside.seconds,
    completedBeside: ((then - ran) * 1000) / (at - from),
    drained,
    refused: alone.refused + beside.refused,
  };
}

/** Jobs per second while nobody submits, until no more are completed. */
async function drainRate(jobs: JobsClient): Promise<number> {
  const samples: { readonly at: number; readonly count: number }[] = [];
  do {
    samples.push({ at: performance.now(), count: await jobs.attempts() });
    await new Promise((resolve) => setTimeout(resolve, 250));
  } while (samples.length < 3 || samples.at(-1)?.count !== samples.at(-3)?.count);
  const moving = samples.filter(({ count }) => count < (samples.at(-1)?.count ?? 0));
  const [first, last] = [moving[0], moving.at(-1)];
  if (first === undefined || last === undefined || first === last) return Number.NaN;
  return ((last.count - first.count) * 1000) / (last.at - first.at);
}

function measureLimit({ folder, image, redisUrl }: ThroughputOptions): number | Promise<number> {
  return redisUrl === undefined
    ? rawInserts(folder, image, LIMIT_SECONDS)
    : rawSets(redisUrl, image, CONCURRENCY, LIMIT_SECONDS);
}

function startServer(
  { root, folder, model, redisUrl }: ThroughputOptions,
  name: string,
  flags: readonly string[],
): Promise<BenchServer> {
  const queue =
    redisUrl === undefined
      ? ['--queue', 'embedded', '--data-dir', join(folder, name)]
      : ['--queue', redisUrl, '--queue-prefix', name];
  return BenchServer.start(root, ['--profile', 'off', ...queue, ...flags, model]);
}
