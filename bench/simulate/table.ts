import { PATTERNS } from './patterns.js';
import { loadProfile } from './profile.js';
import type { Result, Row } from './scenarios.js';

const HEAD = [
  'pattern',
  'rule',
  'useful/s',
  'p50 ms',
  'p99 ms',
  'mean batch',
  'wasted',
  'refused',
  'missed',
  'frontier',
];

/** One section per profile, one line per pattern and rule. */
export function details(results: readonly Result[]): string {
  const profiles = [...new Set(results.map(({ profile }) => profile.name))];
  return profiles
    .map((name) => {
      const rows = results
        .filter(({ profile }) => profile.name === name)
        .flatMap(({ pattern, rows }) => rows.map((row) => [pattern.name, ...cells(row)]));
      return `**${name}**: ${loadProfile(name).about}.\n\n${table(HEAD, rows)}`;
    })
    .join('\n\n');
}

/** Who is on the frontier where. */
export function summary(results: readonly Result[]): string {
  const names = [...new Set(results.flatMap(({ rows }) => rows.map(({ rule }) => rule)))];
  const rows = results.map(({ profile, pattern, rows }) => [
    profile.name,
    pattern.name,
    ...names.map((name) => (rows.find(({ rule }) => rule === name)?.isOnFrontier ? 'yes' : '')),
  ]);
  const count = (name: string): string =>
    String(
      results.filter(({ rows }) => rows.find(({ rule }) => rule === name)?.isOnFrontier).length,
    );
  const total = [`of ${String(results.length)}`, '', ...names.map(count)];
  return table(['profile', 'pattern', ...names], [...rows, total]);
}

export function patternList(): string {
  return PATTERNS.map(({ name, about }) => `- **${name}**: ${about}`).join('\n');
}

function cells(row: Row): string[] {
  const { usefulPerSecond, p50Ms, p99Ms, meanBatch, wasted, refused, missed } = row;
  return [
    row.rule,
    usefulPerSecond.toFixed(usefulPerSecond < 1000 ? 1 : 0),
    milliseconds(p50Ms),
    milliseconds(p99Ms),
    meanBatch.toFixed(meanBatch < 10 ? 2 : 1),
    percent(wasted),
    percent(refused),
    percent(missed),
    row.isOnFrontier ? 'yes' : '',
  ];
}

function milliseconds(ms: number): string {
  if (!Number.isFinite(ms)) return 'none';
  return ms.toFixed(ms < 100 ? 1 : 0);
}

function percent(share: number): string {
  return share < 0.0005 ? '0' : `${(share * 100).toFixed(1)} %`;
}

/** Padded as Prettier would. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) =>
    Math.max(3, ...all.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    `| ${widths.map((width, column) => (row[column] ?? '').padEnd(width)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
