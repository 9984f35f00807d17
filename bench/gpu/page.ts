import { lateGrowth, middleRows, shareOfBest } from './limits.js';
import type { CrashRow, MachineInfo, Results, ServedRow, SoakRow } from './results.js';
import {
  bars,
  decodeTable,
  markdownTable,
  number,
  rawTable,
  servedTable,
  threadTable,
} from './tables.js';

const GIB = 2 ** 30;
const MIB = 2 ** 20;

/** Everything found so far, for people. Sections without anything in them are left out. */
export function resultsPage(results: Results): string {
  const { machine, raw, decode, served, batch1, sweep, steps } = results;
  const sections = [
    section('Machine', machine === undefined ? '' : machineLines(machine)),
    section('Parts', partsTable(results)),
    section('What failed', failureLines(results)),
    section('Raw loop, images/s by batch size', raw.length === 0 ? '' : rawTable(raw)),
    section('Decoding', decode.length === 0 ? '' : decodeTable(decode)),
    section('Served', servedSection(served)),
    section('Batching on and off', batch1.length === 0 ? '' : batch1Section(batch1)),
    section('Plans by hand', sweep.length === 0 ? '' : sweepSection(sweep)),
    section('Single settings', steps.length === 0 ? '' : comparison(steps)),
    section('Crashes', crashSection(results)),
    section('Soak', soakSection(results.soak)),
  ];
  const title = `# Measured ${results.started}, ${String(results.photos)} photos`;
  return `${[title, ...sections.filter(Boolean)].join('\n\n')}\n`;
}

function section(title: string, body: string): string {
  return body === '' ? '' : `## ${title}\n\n${body}`;
}

function machineLines(machine: MachineInfo): string {
  const { cpu, cores, memoryBytes, node, system, gpus, packages } = machine;
  const versions = Object.entries(packages).map(([name, version]) => `${name} ${version}`);
  return [
    `- ${cpu}, ${String(cores)} cores, ${(memoryBytes / GIB).toFixed(0)} GiB`,
    ...(gpus.length === 0 ? ['- no NVIDIA GPU'] : gpus.map((gpu) => `- ${gpu} MiB`)),
    `- ${system}, Node ${node}, ${versions.join(', ')}`,
  ].join('\n');
}

function partsTable({ parts }: Results): string {
  return markdownTable(
    ['part', 'outcome', 'seconds', ''],
    parts.map(({ part, outcome, seconds, why }) => [part, outcome, seconds.toFixed(1), cell(why)]),
  );
}

function failureLines({ failures }: Results): string {
  return failures.map(({ part, what, why }) => `- ${part}, ${what}: ${cell(why)}`).join('\n');
}

/** One line, whatever a library wrote. */
function cell(text = ''): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|');
}

function servedSection(rows: readonly ServedRow[]): string {
  if (rows.length === 0) return '';
  const best = [...new Set(rows.map(({ device }) => device))].flatMap((device) =>
    rows
      .filter((row) => row.device === device && row.form === 'raw')
      .toSorted((a, b) => b.perSecond - a.perSecond)
      .slice(0, 1),
  );
  return [
    bars(rows.map((row) => ({ name: nameOf(row), value: row.perSecond }))),
    servedTable(rows),
    ...best.map((row) => `CPU at ${nameOf(row)}:\n\n${threadTable(row.uses)}`),
  ].join('\n\n');
}

function nameOf({ device, form, concurrency }: ServedRow): string {
  return `${device} ${form} ${String(concurrency)}`;
}

function comparison(all: readonly ServedRow[]): string {
  const rows = middleRows(all);
  const named = rows.map((row) => ({
    name: `${row.device} ${row.setting || 'as it comes'}`,
    value: row.perSecond,
  }));
  return `${bars(named)}\n\n${servedTable(rows)}`;
}

function perDevice(rows: readonly ServedRow[], say: (own: readonly ServedRow[]) => string): string {
  const devices = [...new Set(rows.map(({ device }) => device))];
  return devices
    .map((device) => `- ${device}: ${say(rows.filter((row) => row.device === device))}`)
    .join('\n');
}

function batch1Section(rows: readonly ServedRow[]): string {
  const ratios = perDevice(rows, (own) => {
    const share = shareOfBest(own);
    return `batching makes it ${number(share, 2)} times as fast`;
  });
  return `${ratios}\n\n${comparison(rows)}`;
}

function sweepSection(rows: readonly ServedRow[]): string {
  const shares = perDevice(
    rows,
    (own) => `the automatic plan reaches ${number(shareOfBest(own), 3)} of the best by hand`,
  );
  return `${shares}\n\n${comparison(rows)}`;
}

function crashSection({ crash, crashLoads }: Results): string {
  if (crash.length === 0) return '';
  const lines = crashLoads.map(
    ({ device, ok, refused, failed, errors }) =>
      `- ${device}: ${String(ok)} answered, ${String(refused)} refused, ` +
      `${String(failed)} failed ${failed === 0 ? '' : JSON.stringify(errors)}`,
  );
  const table = markdownTable(
    ['device', 'kill', 'silence ms', 'serving again after ms'],
    crash.map((row: CrashRow) => [
      row.device,
      String(row.kill),
      number(row.silenceMs, 0),
      number(row.servingAfterMs, 0),
    ]),
  );
  return `${lines.join('\n')}\n\n${table}`;
}

function soakSection(rows: readonly SoakRow[]): string {
  if (rows.length === 0) return '';
  const growth = (of: (row: SoakRow) => number): string =>
    `${(lateGrowth(rows.map(of)) / MIB).toFixed(1)} MiB`;
  const gpu = rows.some(({ gpuBytes }) => gpuBytes !== null)
    ? `, GPU memory ${growth(({ gpuBytes }) => gpuBytes ?? 0)}`
    : '';
  const whose = rows.some(({ gpuBytesOf }) => gpuBytesOf === 'all') ? ' of all processes' : '';
  const gpuTitle = `GPU MiB${whose}`;
  const table = markdownTable(
    ['s', 'images/s', 'refused and failed', 'resident MiB', gpuTitle, 'event loop p99 ms'],
    rows.map((row) => [
      row.atSeconds.toFixed(0),
      number(row.perSecond),
      String(row.failed),
      number(row.rssBytes / MIB, 0),
      number(row.gpuBytes === null ? null : row.gpuBytes / MIB, 0),
      number(row.eventLoopP99Ms),
    ]),
  );
  const memory = `resident memory ${growth(({ rssBytes }) => rssBytes)}${gpu}`;
  return `From the middle to the end: ${memory}.\n\n${table}`;
}
