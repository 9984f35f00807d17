import { logBins } from './summary.js';

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** A bar of up to `width` characters, in steps of an eighth; never empty for more than nothing. */
export function bar(value: number, max: number, width: number): string {
  if (!(value > 0) || !(max > 0)) return '';
  const eighths = Math.max(1, Math.round((Math.min(value, max) / max) * width * 8));
  return '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
}

/** How values spread, a line per bin. */
export function histogramChart(values: ArrayLike<number>, bins = 12, width = 40): string[] {
  const all = logBins(values, bins);
  const most = Math.max(...all.map(({ count }) => count));
  const rows = all.map(({ from, to, count }) => [
    `${figure(from)} – ${figure(to)}`,
    `${bar(count, most, width)} ${String(count)}`.trimStart(),
  ]);
  return alignFirst(rows);
}

export interface RatePoint {
  readonly rate: number;
  readonly goodput: number;
  /** `null` when nothing was answered. */
  readonly p99: number | null;
}

/** Goodput and latency against the offered rate, a line per rate. */
export function rateChart(points: readonly RatePoint[], width = 28): string[] {
  const goodput = Math.max(...points.map((point) => point.goodput));
  const p99 = Math.max(...points.map((point) => point.p99 ?? 0));
  const rows = points.map((point) => [
    figure(point.rate),
    `${bar(point.goodput, goodput, width)} ${figure(point.goodput)}`.trimStart(),
    point.p99 === null ? '–' : `${bar(point.p99, p99, width)} ${figure(point.p99)}`,
  ]);
  return alignFirst([['rate/s', 'goodput/s', 'p99 ms'], ...rows], width + 8);
}

/** Three digits are all that such figures are good for. */
export function figure(value: number): string {
  if (value >= 99.95) return value.toFixed(0);
  return value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

function alignFirst(rows: readonly (readonly string[])[], columnWidth = 0): string[] {
  const labelWidth = Math.max(0, ...rows.map(([label = '']) => label.length));
  return rows.map(([label = '', ...cells]) =>
    [label.padStart(labelWidth), ...cells.map((cell) => cell.padEnd(columnWidth))]
      .join('  ')
      .trimEnd(),
  );
}
