import { figure } from '../src/load/chart.js';
import type { LoadResult, LoadRun } from '../src/load/load-result.js';
import { alignColumns } from '../src/load/table.js';
import type { MemoryUse } from './memory-samples.js';

/** One rate, as a multiple of the peak that the closed loop found. */
export interface OverloadStep {
  readonly factor: number;
  readonly rate: number;
  /** What a closed loop reached just before and after it: machines change from minute to minute. */
  readonly peak: number;
  readonly result: LoadResult;
  readonly memory: MemoryUse;
}

export interface OverloadFindings {
  /** Answers per second of the closed loop, before everything else: the rates are multiples. */
  readonly closedPeak: number;
  readonly loneP50Ms: number;
  /** After the end of the last step; `null` if it did not happen while it was watched. */
  readonly recoveredAfterMs: number | null;
  readonly steps: readonly OverloadStep[];
}

export interface Verdict {
  readonly promise: string;
  /** `null` when nothing happened that could keep or break it. */
  readonly value: number | null;
  readonly isKept: boolean;
}

const MIB = 2 ** 20;
const SLOWER = 1.5;
/** One quick answer can be luck; this many in a row are not. */
const IN_A_ROW = 3;

/** When lone requests were as quick as before the load again, in ms since they began. */
export function recoveredAfterMs({ okMs, okAtMs }: LoadRun, loneP50Ms: number): number | null {
  const limit = loneP50Ms * SLOWER;
  for (let at = 0; at + IN_A_ROW <= okMs.length; at++) {
    if (okMs.subarray(at, at + IN_A_ROW).every((ms) => ms <= limit)) return okAtMs[at] ?? null;
  }
  return null;
}

export function verdicts({ steps, recoveredAfterMs: back }: OverloadFindings): Verdict[] {
  const atPeak = steps.find(({ factor }) => factor === 1)?.result.latencyMs?.p99 ?? Number.NaN;
  const over = steps.filter(({ factor }) => factor > 1);
  const perStep = over.flatMap(({ factor, result, peak }): Verdict[] => {
    const share = result.goodput / peak;
    const slower = result.latencyMs === null ? Number.NaN : result.latencyMs.p99 / atPeak;
    return [
      verdict(`goodput at ${String(factor)}× at least 0.95 of the peak`, share, share >= 0.95),
      verdict(`p99 at ${String(factor)}× at most 2 times that at 1×`, slower, slower <= 2),
    ];
  });
  const refusals = over.flatMap(({ result }) => result.refusalMs?.p99 ?? []);
  const slowest = refusals.length === 0 ? null : Math.max(...refusals);
  const admitted = admittedShare(over.map(({ result }) => result));
  const growth = Math.max(...steps.slice(-2).map(({ memory }) => memory.end - memory.middle)) / MIB;
  return [
    ...perStep,
    verdict('p99 of refusals below 100 ms', slowest, slowest === null || slowest < 100),
    verdict(
      'of those who honour Retry-After at least 0.9 are admitted',
      admitted,
      admitted === null || admitted >= 0.9,
    ),
    verdict('lone requests as before within 1000 ms', back, back !== null && back <= 1000),
    verdict('memory grows by less than 32 MiB in the second half of a step', growth, growth < 32),
  ];
}

function verdict(promise: string, value: number | null, isKept: boolean): Verdict {
  return { promise, value, isKept };
}

/** Of the retries that were sent. */
function admittedShare(results: readonly LoadResult[]): number | null {
  const sum = (pick: (result: LoadResult) => number): number =>
    results.reduce((total, result) => total + pick(result), 0);
  const sent = sum(({ retries }) => retries.honoured - retries.pending);
  return sent === 0 ? null : sum(({ retries }) => retries.admitted) / sent;
}

export function overloadTable({ steps }: OverloadFindings): string {
  const atPeak = steps.find(({ factor }) => factor === 1)?.result.latencyMs?.p99;
  const header = [
    '',
    'offered/s',
    'goodput/s',
    'peak around it',
    'of peak',
    'p50',
    'p99',
    'p99 of 1×',
    'refusal p99',
    'retries admitted',
    'gave up',
    'sent late p99',
    'memory MiB: start',
    'end',
    'max',
  ];
  const rows = steps.map(({ factor, result, memory, peak }) => [
    `${String(factor)}×`,
    figure(result.offeredPerSecond),
    figure(result.goodput),
    figure(peak),
    (result.goodput / peak).toFixed(3),
    shown(result.latencyMs?.p50),
    shown(result.latencyMs?.p99),
    shown(ratio(result.latencyMs?.p99, atPeak)),
    shown(result.refusalMs?.p99),
    shown(admittedShare([result])),
    String(result.gaveUp),
    figure(result.latenessP99Ms),
    ...[memory.start, memory.end, memory.max].map((bytes) => (bytes / MIB).toFixed(0)),
  ]);
  return alignColumns([header, ...rows]).join('\n');
}

export function verdictLine({ promise, value, isKept }: Verdict): string {
  return `${isKept ? 'kept  ' : 'BROKEN'}  ${promise}: ${shown(value)}`;
}

function ratio(value: number | undefined, of: number | undefined): number | null {
  return value === undefined || of === undefined ? null : value / of;
}

function shown(value: number | null | undefined): string {
  return value === null || value === undefined || Number.isNaN(value) ? '–' : figure(value);
}
