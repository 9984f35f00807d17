/**
 * npm run bench [-- --images DIR] [--seconds 6] [--rounds 3] [--concurrency 16] [-- server flags]
 *
 * Every figure is a ratio against the limit measured in the same run, in alternating rounds:
 * shared machines change speed from minute to minute.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { EngineConfig } from '../src/engine/messages.js';
import type { LoadJob, LoadResult } from './generator.js';
import { benchImages } from './images.js';
import { Limit } from './limit.js';
import { median, percentile, row } from './report.js';
import { pssBytes, rssBytes } from './processes.js';
import { BenchServer } from './server.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    images: { type: 'string' },
    seconds: { type: 'string', default: '6' },
    rounds: { type: 'string', default: '3' },
    concurrency: { type: 'string', default: '16' },
  },
});
/** Long enough for V8 to optimise the request path, as it is in a server that runs for days. */
const WARM_UP_SECONDS = 10;
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);
const concurrency = Number(values.concurrency);

const images = await benchImages(values.images);
const server = await BenchServer.start(root, positionals);
const generator = fork(fileURLToPath(new URL('./generator.ts', import.meta.url)), {
  execArgv: ['--import', 'tsx'],
});
await once(generator, 'message');

interface ModelInfo {
  labels: string[];
  input: { width: number; height: number };
  plan: { sessions: number; threads: number; max_batch: number; why: string };
}
const model = await server.fetchJson<{ models: [ModelInfo] }>('/models').then((r) => r.models[0]);
const manifest = JSON.parse(
  readFileSync(`${root}/models/ssdlite-mobilenet-v2/shoal.json`, 'utf8'),
) as { labels: string[] };
const engine: EngineConfig = {
  modelPath: `${root}/models/ssdlite-mobilenet-v2/model.onnx`,
  runtime: 'onnx',
  head: 'ssd',
  labels: manifest.labels,
  input: model.input,
  plan: { sessions: model.plan.sessions, threads: model.plan.threads, maxBatch: 1, wideThreads: 0 },
  curve: [],
  wideCurve: [],
  warmBatches: [1],
  decodeLanes: 0,
  batching: 'off',
  windowMs: 0,
  maxItems: 1,
  maxPixels: 1e9,
  maxDecodeBytes: 1e9,
  hangTimeoutMs: 1e6,
};
const limit = await Limit.start(engine, images, root);

async function load(
  form: LoadJob['form'],
  clients: number,
  forSeconds: number,
): Promise<LoadResult> {
  const job: LoadJob = {
    port: server.port,
    form,
    images: images.map((image) => image.toString('base64')),
    concurrency: clients,
    seconds: forSeconds,
  };
  generator.send(job);
  const [result] = (await once(generator, 'message')) as [LoadResult];
  return result;
}

interface Saturation extends LoadResult {
  ratio: number;
  httpMs: number;
  engineMs: number;
}
const saturation: Record<LoadJob['form'], Saturation[]> = { json: [], raw: [] };
const lone: { limit: number[]; served: number[] } = { limit: [], served: [] };
const limits: { perSecond: number; cpuMs: number }[] = [];
const peak = { rss: 0, pss: 0 };

for (const form of ['json', 'raw'] as const) await load(form, concurrency, WARM_UP_SECONDS);
for (let round = 0; round < rounds; round++) {
  process.stderr.write(`round ${String(round + 1)} of ${String(rounds)}\n`);
  const before = await limit.measure(seconds);
  const results: [LoadJob['form'], Omit<Saturation, 'ratio'>][] = [];
  for (const form of round % 2 === 0 ? (['json', 'raw'] as const) : (['raw', 'json'] as const)) {
    const cpu = server.cpu();
    const memory = setInterval(() => {
      peak.rss = Math.max(peak.rss, server.memoryBytes(rssBytes));
      peak.pss = Math.max(peak.pss, server.memoryBytes(pssBytes));
    }, 1000);
    const result = await load(form, concurrency, seconds);
    clearInterval(memory);
    const used = server.cpu();
    const per = (after: number, start: number): number =>
      ((after - start) * 1000) / result.latenciesMs.length;
    results.push([
      form,
      { ...result, httpMs: per(used.http, cpu.http), engineMs: per(used.engine, cpu.engine) },
    ]);
  }
  const after = await limit.measure(seconds);
  limits.push(before, after);
  const perSecond = (before.perSecond + after.perSecond) / 2;
  for (const [form, result] of results) {
    saturation[form].push({ ...result, ratio: result.perSecond / perSecond });
  }
  lone.limit.push(...(await limit.measure(Math.max(2, seconds / 2), 1)).timesMs);
  lone.served.push(...(await load('raw', 1, Math.max(2, seconds / 2))).latenciesMs);
}
const metrics = await server.metrics();
await server.stop();
generator.kill();
limit.stop();

const limitRate = median(limits.map(({ perSecond }) => perSecond));
const limitCpu = median(limits.map(({ cpuMs }) => cpuMs));
console.log(
  `\n${cpus()[0]?.model ?? 'unknown CPU'}, ${String(availableParallelism())} cores, Node ${process.version}`,
);
console.log(
  `plan: ${String(model.plan.sessions)} sessions × ${String(model.plan.threads)} threads, max batch ${String(model.plan.max_batch)}`,
);
console.log(
  `${String(images.length)} photos, ${String(concurrency)} connections, ${String(rounds)} rounds of ${String(seconds)} s\n`,
);
console.log(
  row(
    '',
    'images/s',
    'of the limit',
    'p50',
    'p95',
    'p99',
    'CPU ms/request: engine',
    'HTTP',
    'generator',
  ),
);
console.log(row('limit', limitRate.toFixed(1), '1.000', '', '', '', limitCpu.toFixed(2)));
for (const [form, label] of [
  ['json', 'JSON + base64'],
  ['raw', 'raw bytes'],
] as const) {
  const runs = saturation[form];
  const latencies = runs.flatMap(({ latenciesMs }) => latenciesMs);
  const mid = (pick: (run: Saturation) => number): number => median(runs.map(pick));
  console.log(
    row(
      label,
      mid((run) => run.perSecond).toFixed(1),
      mid((run) => run.ratio).toFixed(3),
      ...[50, 95, 99].map((p) => percentile(latencies, p).toFixed(1)),
      mid((run) => run.engineMs).toFixed(2),
      mid((run) => run.httpMs).toFixed(2),
      mid((run) => run.cpuMsPerRequest).toFixed(2),
    ),
  );
  const failures = runs.reduce((sum, run) => sum + run.failures, 0);
  if (failures > 0) console.log(`  ${String(failures)} requests failed`);
}
const [limitLone, servedLone] = [percentile(lone.limit, 50), percentile(lone.served, 50)];
console.log(
  `\nlone request, p50: limit ${limitLone.toFixed(2)} ms, served ${servedLone.toFixed(2)} ms (+${(servedLone - limitLone).toFixed(2)} ms); p95 ${percentile(lone.served, 95).toFixed(2)}, p99 ${percentile(lone.served, 99).toFixed(2)}`,
);
const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
console.log(
  `memory at saturation, all processes: ${mib(peak.rss)} resident, ${mib(peak.pss)} with shared pages counted once`,
);
const delay = /shoal_event_loop_delay_seconds\{quantile="0.99"\} (\S+)/.exec(metrics)?.[1];
console.log(`event-loop delay of the HTTP process, p99: ${(Number(delay) * 1000).toFixed(1)} ms`);
console.log('\nmean time per stage (ms):');
for (const match of metrics.matchAll(
  /shoal_stage_seconds_sum\{model="[^"]*",stage="(\w+)"\} (\S+)/g,
)) {
  const [, stage = '', sum = '0'] = match;
  const count = new RegExp(`shoal_stage_seconds_count\\{[^}]*stage="${stage}"\\} (\\S+)`).exec(
    metrics,
  )?.[1];
  console.log(`  ${stage.padEnd(8)} ${((Number(sum) / Number(count)) * 1000).toFixed(2)}`);
}
