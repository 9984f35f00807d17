import { figure } from '../load/chart.js';
import type { Finding } from './finding.js';
import { placeLabels } from './labels.js';
import type { Marked } from './marks.js';
import { linearScale, logScale, ticksOf } from './scale.js';

const [WIDTH, HEIGHT] = [760, 480];
const PLOT = { left: 70, right: WIDTH - 30, top: 56, bottom: HEIGHT - 56 };
const RADIUS = { auto: 7, best: 7, other: 4 };

/** Colours follow the reader's theme; the page behind the picture is its own. */
const STYLE = `
  .page { fill: #ffffff } text { fill: #1f2328; font: 12px system-ui, sans-serif }
  .title { font-size: 15px; font-weight: 600 } .axis { stroke: #59636e } .grid { stroke: #d1d9e0 }
  .other { fill: #818b98 } .auto { fill: #0969da } .best { fill: #bc4c00 }
  .target { stroke: #cf222e; stroke-dasharray: 5 4 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } text { fill: #f0f6fc } .axis { stroke: #9198a1 } .grid { stroke: #3d444d }
    .auto { fill: #4493f8 } .best { fill: #f0883e } .target { stroke: #f85149 }
  }`;

export interface PlotTexts {
  readonly title: string;
  readonly xTitle: string;
  readonly targetP99Ms: number | undefined;
}

/** The scatter plot as a picture: a dot per candidate, with its name. */
export function scatterSvg(marked: readonly Marked[], texts: PlotTexts): string {
  const { title, xTitle, targetP99Ms } = texts;
  const known = marked.flatMap(({ finding, role }) => {
    const { p99Ms, imagesPerSecond } = finding;
    return p99Ms === null ? [] : [{ p99Ms, imagesPerSecond, role, name: nameOf(finding) }];
  });
  const targets = targetP99Ms === undefined ? [] : [targetP99Ms];
  const xScale = logScale([...known.map(({ p99Ms }) => p99Ms), ...targets]);
  const yScale = linearScale(known.map(({ imagesPerSecond }) => imagesPerSecond));
  const x = (value: number): number =>
    round(PLOT.left + xScale.at(value) * (PLOT.right - PLOT.left));
  const y = (value: number): number =>
    round(PLOT.bottom - yScale.at(value) * (PLOT.bottom - PLOT.top));

  // Those that matter get their labels first, and are drawn last.
  const order = { best: 0, auto: 1, other: 2 };
  const dots = known
    .map((dot) => ({
      ...dot,
      x: x(dot.p99Ms),
      y: y(dot.imagesPerSecond),
      radius: RADIUS[dot.role],
      label: dot.role === 'best' ? `best: ${dot.name}` : dot.name,
    }))
    .toSorted((a, b) => order[a.role] - order[b.role]);
  const labels = placeLabels(dots, { left: 0, right: WIDTH });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${String(WIDTH)} ${String(HEIGHT)}" role="img">`,
    `<title>${escapeXml(title)}</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="page" width="${String(WIDTH)}" height="${String(HEIGHT)}"/>`,
    textAt(PLOT.left, 30, title, 'start', 'title'),
    ...ticksOf(yScale, 'linear').flatMap((tick) => [
      line(PLOT.left, y(tick), PLOT.right, y(tick), 'grid'),
      textAt(PLOT.left - 8, y(tick) + 4, figure(tick), 'end'),
    ]),
    ...ticksOf(xScale, 'log').flatMap((tick) => [
      line(x(tick), PLOT.top, x(tick), PLOT.bottom, 'grid'),
      textAt(x(tick), PLOT.bottom + 18, figure(tick), 'middle'),
    ]),
    line(PLOT.left, PLOT.bottom, PLOT.right, PLOT.bottom, 'axis'),
    line(PLOT.left, PLOT.top, PLOT.left, PLOT.bottom, 'axis'),
    textAt((PLOT.left + PLOT.right) / 2, HEIGHT - 14, xTitle, 'middle'),
    textAt(12, PLOT.top - 10, 'images/s', 'start'),
    ...targets.map((target) => line(x(target), PLOT.top, x(target), PLOT.bottom, 'target')),
    ...dots
      .toReversed()
      .map(
        (dot) =>
          `<circle class="${dot.role}" cx="${String(dot.x)}" cy="${String(dot.y)}" ` +
          `r="${String(dot.radius)}"><title>${escapeXml(describe(dot))}</title></circle>`,
      ),
    ...labels.map(({ x: at, y: base, text }) => textAt(at, base, text, 'start')),
    '</svg>',
    '',
  ].join('\n');
}

/** What auto comes to is not in its name. */
function nameOf({ candidate, plan }: Finding): string {
  if (candidate.settings.sessions !== undefined) return candidate.name;
  const { sessions, threads, max_batch: batch } = plan;
  return `${candidate.name}: ${String(sessions)} × ${String(threads)}, batch ${String(batch)}`;
}

function describe(dot: { name: string; imagesPerSecond: number; p99Ms: number }): string {
  return `${dot.name}: ${figure(dot.imagesPerSecond)} images/s, p99 ${figure(dot.p99Ms)} ms`;
}

function textAt(x: number, y: number, text: string, anchor: string, className?: string): string {
  const style = className === undefined ? '' : ` class="${className}"`;
  return `<text${style} x="${String(x)}" y="${String(y)}" text-anchor="${anchor}">${escapeXml(text)}</text>`;
}

function line(x1: number, y1: number, x2: number, y2: number, className: string): string {
  const [from, to] = [
    `x1="${String(x1)}" y1="${String(y1)}"`,
    `x2="${String(x2)}" y2="${String(y2)}"`,
  ];
  return `<line class="${className}" ${from} ${to}/>`;
}

/** Control characters are not allowed in XML at all, however they are written. */
function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll(/\p{Cc}/gu, ' ');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
