import { figure } from '../src/load/chart.js';
import type { LoadResult } from '../src/load/load-result.js';
import { alignColumns } from '../src/load/table.js';
import type { Verdict } from './overload-report.js';

/** One load of tenant B, with or without another tenant beside it. */
export interface FairnessCase {
  readonly name: string;
  /** `null` where B is alone. */
  readonly a: LoadResult | null;
  readonly b: LoadResult;
}

export interface FairnessFindings {
  /** Answers per second of a closed loop. */
  readonly peak: number;
  readonly alone: FairnessCase;
  /** A keeps to its share. */
  readonly fair: FairnessCase;
  /** A asks for ten times that. */
  readonly greedy: FairnessCase;
}

/** A neighbour may cost this much of the latency, and no more. */
const MOST_SLOWER = 1.5;
/** B asks for little and must get it. */
const LEAST_ANSWERED = 0.99;

/** How much longer B waits with the greedy neighbour than in another case. */
export function slowdown(
  { greedy }: Pick<FairnessFindings, 'greedy'>,
  other: FairnessCase,
): number | null {
  const [now, then] = [greedy.b.latencyMs?.p99, other.b.latencyMs?.p99];
  return now === undefined || then === undefined ? null : now / then;
}

export function fairnessVerdicts(findings: FairnessFindings): Verdict[] {
  const slower = slowdown(findings, findings.fair);
  const { ok, offered } = findings.greedy.b;
  // Whoever is refused or gives up is in no percentile, so a low p99 alone proves nothing.
  const answered = offered === 0 ? null : ok / offered;
  return [
    {
      promise: `B's p99 with A at 10× its share at most ${String(MOST_SLOWER)} times that with A at its share`,
      value: slower,
      isKept: slower !== null && slower <= MOST_SLOWER,
    },
    {
      promise: `of B's requests with A at 10× its share at least ${String(LEAST_ANSWERED)} answered`,
      value: answered,
      isKept: answered !== null && answered >= LEAST_ANSWERED,
    },
  ];
}

const NONE = '–';
const COLUMNS: readonly (readonly [string, (one: FairnessCase) => string])[] = [
  ['', ({ name }) => name],
  ['A offered/s', ({ a }) => shown(a?.offeredPerSecond)],
  ['goodput/s', ({ a }) => shown(a?.goodput)],
  ['refused', ({ a }) => (a === null ? NONE : String(a.refused))],
  ['gave up', ({ a }) => (a === null ? NONE : String(a.gaveUp))],
  ['B offered', ({ b }) => String(b.offered)],
  ['200', ({ b }) => String(b.ok)],
  ['refused', ({ b }) => String(b.refused)],
  ['gave up', ({ b }) => String(b.gaveUp)],
  ['p50', ({ b }) => shown(b.latencyMs?.p50)],
  ['p99', ({ b }) => shown(b.latencyMs?.p99)],
  ['sent late p99', ({ b }) => shown(b.latenessP99Ms)],
];

export function fairnessTable({ alone, fair, greedy }: FairnessFindings): string {
  const rows = [
    COLUMNS.map(([name]) => name),
    ...[alone, fair, greedy].map((one) => COLUMNS.map(([, cell]) => cell(one))),
  ];
  return alignColumns(rows, [0]).join('\n');
}

function shown(value: number | undefined): string {
  return value === undefined ? NONE : figure(value);
}
