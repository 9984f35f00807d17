import type { LoadJob } from './load-generator.js';
import type { LoadResult } from '../load/load-result.js';
import type { PlanFacts } from './candidate.js';
import { latencyOf, type Visit } from './finding.js';

/** A server as a visit needs it. */
export interface VisitedServer {
  readonly url: string;
  memoryBytes(): number | null;
}

export interface VisitOptions {
  readonly round: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
  /** Requests per second of the paced load, a share of what was just reached, or none of it. */
  readonly pace: { readonly rate: number } | { readonly share: number } | undefined;
}

/** Clients per image that the plan admits: as much again waits, so no session ever has to. */
const CLIENTS_PER_PLACE = 2;

/** Loads a server as much as it takes and, where there is a target, at a rate. */
export async function visit(
  server: VisitedServer,
  plan: Pick<PlanFacts, 'max_concurrent'>,
  run: (job: LoadJob) => Promise<LoadResult>,
  { round, warmUpSeconds, seconds, pace }: VisitOptions,
): Promise<Visit> {
  const { url } = server;
  const concurrency = CLIENTS_PER_PLACE * plan.max_concurrent;
  await run({ kind: 'closed', url, concurrency, seconds: warmUpSeconds });
  const saturated = await run({ kind: 'closed', url, concurrency, seconds });
  if (saturated.ok === 0)
    throw new Error(`no request was answered 200, but ${outcomes(saturated)}`);
  const imagesPerSecond = saturated.goodput;
  const rate = pace === undefined ? 0 : 'rate' in pace ? pace.rate : pace.share * imagesPerSecond;
  const paced = rate > 0 ? await run({ kind: 'open', url, rate, seconds }) : undefined;
  return {
    round,
    imagesPerSecond,
    saturated: latencyOf(saturated),
    paced: paced === undefined ? null : { ...latencyOf(paced), rate },
    memoryBytes: server.memoryBytes(),
  };
}

function outcomes({ statuses, errors, gaveUp }: LoadResult): string {
  const all = [
    ...Object.entries(statuses).map(([code, count]) => `${String(count)} × status ${code}`),
    ...Object.entries(errors).map(([code, count]) => `${String(count)} × ${code}`),
    ...(gaveUp > 0 ? [`${String(gaveUp)} × no answer in time`] : []),
  ];
  return all.join(', ');
}
