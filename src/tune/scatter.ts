import { figure } from '../load/chart.js';
import type { Marked } from './marks.js';
import { linearScale, logScale } from './scale.js';

const WIDTH = 60;
const HEIGHT = 13;
/** Which mark is seen where several fall on the same place. */
const PRIORITY = { best: 2, auto: 1, other: 0 };

/** Throughput against latency in characters: best is what lies high and to the left. */
export function scatterPlot(marked: readonly Marked[], xTitle: string): string[] {
  const dots = marked.flatMap((one) => {
    const { p99Ms, imagesPerSecond } = one.finding;
    return p99Ms === null ? [] : [{ ...one, p99Ms, imagesPerSecond }];
  });
  if (dots.length === 0) return [];
  const x = logScale(dots.map(({ p99Ms }) => p99Ms));
  const y = linearScale(dots.map(({ imagesPerSecond }) => imagesPerSecond));
  const grid = Array.from({ length: HEIGHT }, () => new Array<string>(WIDTH).fill(' '));
  for (const dot of dots.toSorted((a, b) => PRIORITY[a.role] - PRIORITY[b.role])) {
    const row = grid[Math.round((1 - y.at(dot.imagesPerSecond)) * (HEIGHT - 1))];
    if (row !== undefined) row[Math.round(x.at(dot.p99Ms) * (WIDTH - 1))] = dot.mark;
  }
  const [top, bottom] = [figure(y.high), figure(y.low)];
  const labelWidth = Math.max(top.length, bottom.length);
  const lines = grid.map((row, at) => {
    const label = at === 0 ? top : at === HEIGHT - 1 ? bottom : '';
    return `${label.padStart(labelWidth)} │${row.join('')}`.trimEnd();
  });
  const [left, right] = [figure(x.low), figure(x.high)];
  const middle = xTitle.padStart(
    Math.floor((WIDTH - left.length - right.length + xTitle.length) / 2),
  );
  const under = left + middle.padEnd(WIDTH - left.length - right.length) + right;
  const indent = ' '.repeat(labelWidth + 1);
  return ['images/s', ...lines, `${indent}└${'─'.repeat(WIDTH)}`, `${indent} ${under}`];
}
