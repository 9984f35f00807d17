import { bar, figure } from '../../src/load/chart.js';
import { msOfRole, type ProcessUse } from '../threads.js';
import type { DecodeRow, RawRow, ServedRow } from './results.js';

/** A Markdown table. */
export function markdownTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Nothing where there is no such figure. */
export function number(value: number | null, digits?: number): string {
  if (value === null || !Number.isFinite(value)) return '–';
  return digits === undefined ? figure(value) : value.toFixed(digits);
}

/** Batch sizes down, loops across. */
export function rawTable(rows: readonly RawRow[]): string {
  const loopOf = ({ device, precision, sessions, threads }: RawRow): string =>
    `${device} ${precision}, ${String(sessions)} × ${String(threads)}`;
  const loops = [...new Set(rows.map(loopOf))];
  const batches = [...new Set(rows.map(({ batch }) => batch))].sort((a, b) => a - b);
  return markdownTable(
    ['batch', ...loops],
    batches.map((batch) => [
      String(batch),
      ...loops.map((loop) => {
        const row = rows.find((one) => one.batch === batch && loopOf(one) === loop);
        return number(row?.perSecond ?? null);
      }),
    ]),
  );
}

export function decodeTable(rows: readonly DecodeRow[]): string {
  return markdownTable(
    ['threads', 'images/s', 'CPU ms/image'],
    rows.map((row) => [String(row.threads), number(row.perSecond), number(row.cpuMsPerImage)]),
  );
}

export function servedTable(rows: readonly ServedRow[]): string {
  const header = ['device', 'setting', 'body', 'clients', 'images/s', 'limit', 'ratio', 'p50 ms'];
  const more = ['p99 ms', 'mean batch', 'refused', 'failed', 'event loop p99 ms'];
  const cpu = ['CPU ms: server', 'fronts', 'engines', 'generator', 'generator cores'];
  return markdownTable(
    [...header, ...more, ...cpu],
    rows.map((row) => [
      row.device,
      row.setting || 'none',
      row.form,
      String(row.concurrency),
      number(row.perSecond),
      number(row.limit),
      number(row.ratio, 3),
      number(row.p50Ms),
      number(row.p99Ms),
      number(row.meanBatch, 1),
      String(row.refused),
      String(row.failed),
      number(row.eventLoopP99Ms),
      ...['server', 'front', 'engine', 'load generator'].map((role) =>
        number(msOfRole(row.uses, role), 3),
      ),
      number(row.generatorCores),
    ]),
  );
}

const SHOWN_THREADS = 6;

/** Where the CPU of a request goes, by process and thread. */
export function threadTable(uses: readonly ProcessUse[]): string {
  return markdownTable(
    ['process', 'CPU ms/request', 'main thread', 'busiest others'],
    uses.map(({ role, ms, main, others }) => [
      role,
      number(ms, 3),
      number(main, 3),
      others
        .slice(0, SHOWN_THREADS)
        .map((thread) => `${thread.name} ${thread.ms.toFixed(3)}`)
        .join(', '),
    ]),
  );
}

const BAR_WIDTH = 40;

/** Throughput as bars, in characters. */
export function bars(rows: readonly { readonly name: string; readonly value: number }[]): string {
  const most = Math.max(0, ...rows.map(({ value }) => value));
  const width = Math.max(0, ...rows.map(({ name }) => name.length));
  const lines = rows.map(
    ({ name, value }) => `${name.padEnd(width)}  ${bar(value, most, BAR_WIDTH)} ${figure(value)}`,
  );
  return ['```', ...lines, '```'].join('\n');
}
