import { figure } from '../src/load/chart.js';
import { alignColumns } from '../src/load/table.js';
import type { LatencyFindings, Phase } from './jobs-latency.js';
import type { ThroughputRound } from './jobs-throughput.js';
import type { WorkersRound } from './jobs-workers.js';
import { verdictLine } from './overload-report.js';
import { median } from './report.js';

/** A backlog may cost this much of the latency, and no more. */
const MOST_SLOWER = 1.5;
/** Two workers do at least this many times what one does. */
const LEAST_FASTER = 1.8;

export function latencyTable(findings: LatencyFindings): string {
  const { peak, rate, without, beside, jobsPerSecond } = findings;
  const row = (name: string, phase: Phase, jobs: number): string[] => [
    name,
    figure(jobs),
    String(phase.answered),
    String(phase.failed),
    figure(phase.p50),
    figure(phase.p95),
    figure(phase.p99),
    figure(phase.latenessP99),
  ];
  const header = ['interactive', 'jobs/s', '200', 'failed', 'p50', 'p95', 'p99', 'sent late p99'];
  const slower = beside.p99 / without.p99;
  return [
    `interactive requests ${figure(rate)}/s, which is ${figure(rate / peak)} of the peak of ${figure(peak)}/s`,
    ...alignColumns(
      [header, row('alone', without, 0), row('beside jobs', beside, jobsPerSecond)],
      [0],
    ),
    `together ${figure((jobsPerSecond + rate) / peak)} of the peak; p50 ${figure(beside.p50 / without.p50)} times, ` +
      `p95 ${figure(beside.p95 / without.p95)} times`,
    verdictLine({
      promise: `p99 beside a backlog at most ${String(MOST_SLOWER)} times that without`,
      value: slower,
      isKept: slower <= MOST_SLOWER,
    }),
  ].join('\n');
}

/** Medians of all rounds. */
export function throughputTable(
  store: string,
  limitName: string,
  rounds: readonly ThroughputRound[],
): string {
  const mid = (pick: (one: ThroughputRound) => number): number => median(rounds.map(pick));
  const row = (name: string, pick: (one: ThroughputRound) => number): string[] => [
    name,
    figure(mid(pick)),
    figure(mid((one) => pick(one) / one.limit)),
  ];
  const refused = rounds.reduce((sum, one) => sum + one.refused, 0);
  return [
    ...alignColumns(
      [
        [store, 'per second', 'of the limit'],
        row(`limit: ${limitName}`, ({ limit }) => limit),
        row('submitted, nobody runs them', ({ submitted }) => submitted),
        row('submitted while they are run', ({ submittedBeside }) => submittedBeside),
        row('completed meanwhile', ({ completedBeside }) => completedBeside),
        row('completed of a backlog', ({ drained }) => drained),
      ],
      [0],
    ),
    `p99 of a submission ${figure(mid(({ submitP99 }) => submitP99))} ms, refused ${String(refused)}`,
  ].join('\n');
}

export function workersTable(rounds: readonly WorkersRound[]): string {
  const faster = median(rounds.map(({ one, two }) => two / one));
  const rows = rounds.map(({ one, two }, at) => [
    String(at + 1),
    figure(one),
    figure(two),
    figure(two / one),
  ]);
  return [
    ...alignColumns([['round', 'one worker, jobs/s', 'two', 'ratio'], ...rows]),
    verdictLine({
      promise: `two workers at least ${String(LEAST_FASTER)} times as fast as one`,
      value: faster,
      isKept: faster >= LEAST_FASTER,
    }),
  ].join('\n');
}
