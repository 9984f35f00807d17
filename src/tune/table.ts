import { figure } from '../load/chart.js';
import { alignColumns } from '../load/table.js';
import type { Finding } from './finding.js';
import type { Marked } from './marks.js';

type Column = readonly [name: string, cell: (marked: Marked) => string];

const MIB = 2 ** 20;
const UNKNOWN = 'n/a';
const NOTES = { auto: 'auto', best: 'best', other: '' };

/** A line per candidate. */
export function findingsTable(marked: readonly Marked[], best: Finding | undefined): string {
  const of = best?.imagesPerSecond ?? Number.NaN;
  const hasWindows = marked.some(({ finding }) => finding.plan.batching === 'fixed');
  const hasRates = marked.some(({ finding }) => finding.rate !== null);
  const columns: Column[] = [
    ['', ({ mark }) => mark],
    ['split', ({ finding: { plan } }) => splitOf(plan)],
    ['max batch', ({ finding: { plan } }) => String(plan.max_batch)],
    ...(hasWindows ? [WINDOW] : []),
    ['images/s', ({ finding }) => figure(finding.imagesPerSecond)],
    ['of best', ({ finding }) => percent(finding.imagesPerSecond / of)],
    ...(hasRates ? [RATE, ANSWERED] : []),
    ['p50 ms', ({ finding }) => shown(finding.p50Ms)],
    ['p99 ms', ({ finding }) => shown(finding.p99Ms)],
    ['memory MiB', ({ finding: { memoryBytes } }) => mebibytes(memoryBytes)],
    ['  ', note],
  ];
  const rows = [
    columns.map(([name]) => name),
    ...marked.map((one) => columns.map(([, cell]) => cell(one))),
  ];
  return alignColumns(rows, [columns.length - 1]).join('\n');
}

const WINDOW: Column = [
  'window ms',
  ({ finding: { plan } }) => (plan.batching === 'fixed' ? String(plan.window_ms) : '–'),
];
const RATE: Column = ['at rate/s', ({ finding }) => shown(finding.rate)];
const ANSWERED: Column = ['answered', ({ finding }) => percent(finding.okShare)];

/** Names where the plan came from, and which lines are of one short run. */
function note({ role, finding: { candidate, isFinalist } }: Marked): string {
  const told = candidate.settings.slo_p99_ms;
  return [
    NOTES[role],
    told === undefined ? '' : `auto with slo_p99_ms ${String(told)}`,
    isFinalist ? '' : 'searched only',
  ]
    .filter((part) => part !== '')
    .join(', ');
}

function splitOf({ sessions, threads, wide_threads: wide }: Finding['plan']): string {
  const plain = `${String(sessions)} × ${String(threads)}`;
  return wide > 0 ? `${plain} + 1 × ${String(wide)}` : plain;
}

function percent(share: number): string {
  return Number.isFinite(share) ? `${(share * 100).toFixed(0)} %` : UNKNOWN;
}

function shown(value: number | null): string {
  return value === null ? UNKNOWN : figure(value);
}

function mebibytes(bytes: number | null): string {
  return bytes === null ? UNKNOWN : (bytes / MIB).toFixed(0);
}
