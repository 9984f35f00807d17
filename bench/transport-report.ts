import { alignColumns } from '../src/load/table.js';
import type { ProcessUse } from './threads.js';

export interface TransportRun {
  readonly form: 'raw' | 'json';
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly failed: number;
  readonly uses: readonly ProcessUse[];
}

/** How many threads of a process are worth a column. */
const SHOWN = 4;

export function transportTable(runs: readonly TransportRun[]): string {
  const busiest = Array.from({ length: SHOWN }, (_, at) => `#${String(at + 1)}`);
  const header = ['body', 'requests/s', 'p50', 'p99', 'failed', 'CPU ms/request', 'all', 'main'];
  const rows = runs.flatMap(({ form, perSecond, p50, p99, failed, uses }) => [
    [form, perSecond.toFixed(0), p50.toFixed(1), p99.toFixed(1), String(failed)],
    ...uses.map((use) => ['', '', '', '', '', ...processCells(use)]),
  ]);
  return alignColumns([[...header, ...busiest, 'rest'], ...rows], [0, 5]).join('\n');
}

function processCells({ role, ms, main, others }: ProcessUse): string[] {
  const shown = Array.from({ length: SHOWN }, (_, at) => {
    const thread = others[at];
    return thread === undefined || thread.ms < 0.0005 ? '' : thread.ms.toFixed(3);
  });
  const rest = others.slice(SHOWN).reduce((sum, thread) => sum + thread.ms, 0);
  return [role, ms.toFixed(3), main.toFixed(3), ...shown, rest < 0.0005 ? '' : rest.toFixed(3)];
}
