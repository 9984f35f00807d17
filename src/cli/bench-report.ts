import { figure, histogramChart, rateChart } from '../load/chart.js';
import type { LoadResult, LoadRun } from '../load/load-result.js';
import { alignColumns } from '../load/table.js';

export interface RatedRun {
  readonly rate: number;
  readonly run: LoadRun;
}

/** Beyond this the generator, not the server, decided what was measured. */
const MAX_LATENESS_MS = 20;
const NONE = '–';

const COLUMNS: readonly (readonly [string, (result: LoadResult) => string])[] = [
  ['offered/s', (result) => figure(result.offeredPerSecond)],
  ['goodput/s', (result) => figure(result.goodput)],
  ['200', (result) => String(result.ok)],
  ['429', (result) => String(result.statuses['429'] ?? 0)],
  ['other', (result) => String(othersOf(result))],
  ['gave up', (result) => String(result.gaveUp)],
  ['p50', (result) => milliseconds(result.latencyMs?.p50)],
  ['p95', (result) => milliseconds(result.latencyMs?.p95)],
  ['p99', (result) => milliseconds(result.latencyMs?.p99)],
  ['refused p99', (result) => milliseconds(result.refusalMs?.p99)],
  ['sent late p99', (result) => milliseconds(result.latenessP99Ms)],
];

/** The table, what must be known to read it, and a chart. */
export function report(runs: readonly RatedRun[]): string {
  if (runs.every(({ run }) => run.result.offered === 0)) return 'Nothing was sent.';
  const sorted = runs.toSorted((a, b) => a.rate - b.rate);
  return [table(sorted), ...sorted.flatMap(notes), '', ...chart(sorted)].join('\n');
}

function table(runs: readonly RatedRun[]): string {
  const rows = [
    COLUMNS.map(([name]) => name),
    ...runs.map(({ run }) => COLUMNS.map(([, cell]) => cell(run.result))),
  ];
  return alignColumns(rows).join('\n');
}

function notes({ rate, run: { result } }: RatedRun): string[] {
  const { errors, unsent, latenessP99Ms, retries } = result;
  const at = `at ${figure(rate)}/s`;
  const statuses = Object.entries(result.statuses).filter(([code]) => !/^(200|429)$/.test(code));
  const others = [
    ...statuses.map(([code, count]) => `${String(count)} × status ${code}`),
    ...Object.entries(errors).map(([code, count]) => `${String(count)} × ${code}`),
  ];
  return [
    ...(others.length > 0 ? [`${at}: ${others.join(', ')}`] : []),
    ...(retries.honoured > 0
      ? [
          `${at}: ${String(retries.honoured)} honoured Retry-After: ${String(retries.admitted)} ` +
            `then got 200, ${String(retries.refusedAgain)} were refused again, ` +
            `${String(retries.gaveUp + retries.failed)} got nothing, ` +
            `${String(retries.pending)} were told to come after the end`,
        ]
      : []),
    ...(unsent > 0
      ? [`${at}: ${String(unsent)} requests not sent, all connections were busy (--connections)`]
      : []),
    ...(latenessP99Ms > MAX_LATENESS_MS
      ? [
          `${at}: the generator sent requests up to ${figure(latenessP99Ms)} ms late (p99). ` +
            'It was the bottleneck; do not trust this line. Run it on another machine.',
        ]
      : []),
  ];
}

function chart(runs: readonly RatedRun[]): string[] {
  const [only] = runs;
  if (runs.length > 1) {
    return rateChart(
      runs.map(({ rate, run: { result } }) => ({
        rate,
        goodput: result.goodput,
        p99: result.latencyMs?.p99 ?? null,
      })),
    );
  }
  if (only === undefined || only.run.okMs.length === 0) return [];
  return ['latency of answers with status 200, ms', ...histogramChart(only.run.okMs)];
}

function othersOf({ statuses, errors }: LoadResult): number {
  const others = Object.entries(statuses).filter(([code]) => code !== '200' && code !== '429');
  return [...others.map(([, count]) => count), ...Object.values(errors)].reduce(
    (sum, count) => sum + count,
    0,
  );
}

function milliseconds(value: number | undefined): string {
  return value === undefined ? NONE : figure(value);
}
