/**
 * npm run bench [-- --help]
 *
 * Every figure is a ratio against the limit measured in the same run, in alternating rounds:
 * shared machines change speed from minute to minute.
 */
import { availableParallelism, cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { CPU } from '../src/config/devices.js';
import { cacheFolderFor } from '../src/config/environment.js';
import type { EngineConfig } from '../src/engine/messages.js';
import type { Form } from '../src/load/prepared-request.js';
import { alignColumns } from '../src/load/table.js';
import { IMAGES, number, readArguments } from './arguments.js';
import { engineConfig } from './engine-config.js';
import { benchImages } from './images.js';
import { Limit } from './limit.js';
import { LoadProcess } from './load-process.js';
import { pssBytes, rssBytes } from './processes.js';
import { median, percentile } from './report.js';
import { BenchServer } from './server.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values, serverFlags } = readArguments({
  name: 'bench',
  about: 'Throughput and latency, against what the machine can do without any HTTP.',
  takesServerFlags: true,
  settings: {
    images: IMAGES,
    seconds: number(6, 'Seconds of every measurement'),
    rounds: number(3, 'How often limit and server take turns'),
    concurrency: number(16, 'Connections at saturation'),
  },
});
/** Long enough for V8 to optimise the request path, as it is in a server that runs for days. */
const WARM_UP_SECONDS = 10;
const { seconds, rounds, concurrency } = values;
const loneSeconds = Math.max(2, seconds / 2);

const images = await benchImages(values.images);
// Measured thoroughly beforehand, or it would measure itself in the pauses between the rounds.
await BenchServer.start(root, [...serverFlags, '--profile', 'full']).then((one) => one.stop());
const server = await BenchServer.start(root, serverFlags);
/** What most other servers do, for comparison: every request waits for the window. */
const windowed = await BenchServer.start(root, ['--batching', 'fixed', '--profile', 'off']);
const startLoad = (port: number, form: Form): Promise<LoadProcess> =>
  LoadProcess.start({ url: `http://127.0.0.1:${String(port)}`, form, images });
const loads = {
  json: await startLoad(server.port, 'json'),
  raw: await startLoad(server.port, 'raw'),
  windowed: await startLoad(windowed.port, 'raw'),
};

interface ModelInfo {
  plan: { sessions: number; threads: number; max_batch: number; why: string };
}
const model = await server.fetchJson<{ models: [ModelInfo] }>('/models').then((r) => r.models[0]);
const engineWith = (sessions: number, threads: number): EngineConfig =>
  engineConfig(root, {
    device: CPU,
    cacheFolder: cacheFolderFor(''),
    precision: 'fp32',
    sessions,
    threads,
    maxBatch: 1,
  });
const { sessions, threads } = model.plan;
const limit = await Limit.start(engineWith(sessions, threads), images, root);
const wideLimit = await Limit.start(engineWith(1, availableParallelism()), images, root);

interface Saturation {
  readonly perSecond: number;
  readonly ratio: number;
  readonly latenciesMs: readonly number[];
  readonly failures: number;
  readonly cpuMs: { readonly engine: number; readonly http: number; readonly generator: number };
}
const peak = { rss: 0, pss: 0 };

async function saturate(form: 'json' | 'raw'): Promise<Omit<Saturation, 'ratio'>> {
  const before = server.cpu();
  const memory = setInterval(() => {
    peak.rss = Math.max(peak.rss, server.memoryBytes(rssBytes));
    peak.pss = Math.max(peak.pss, server.memoryBytes(pssBytes));
  }, 1000);
  const { run } = await loads[form].run({ kind: 'closed', concurrency, seconds });
  clearInterval(memory);
  const after = server.cpu();
  const { ok, sent, goodput, cpuMsPerRequest } = run.result;
  const per = (end: number, start: number): number => ((end - start) * 1000) / ok;
  return {
    perSecond: goodput,
    latenciesMs: [...run.okMs],
    failures: sent - ok,
    cpuMs: {
      engine: per(after.engine, before.engine),
      http: per(after.http, before.http),
      generator: cpuMsPerRequest,
    },
  };
}

async function loneTimes(load: LoadProcess): Promise<number[]> {
  const { run } = await load.run({ kind: 'closed', concurrency: 1, seconds: loneSeconds });
  return [...run.okMs];
}

const saturation: Record<'json' | 'raw', Saturation[]> = { json: [], raw: [] };
const lone = {
  narrow: [] as number[],
  wide: [] as number[],
  served: [] as number[],
  windowed: [] as number[],
};
const limits: { perSecond: number; cpuMs: number }[] = [];

for (const load of Object.values(loads)) {
  await load.run({ kind: 'closed', concurrency, seconds: WARM_UP_SECONDS });
}
for (let round = 0; round < rounds; round++) {
  process.stderr.write(`round ${String(round + 1)} of ${String(rounds)}\n`);
  const before = await limit.measure(seconds);
  const results: ['json' | 'raw', Omit<Saturation, 'ratio'>][] = [];
  for (const form of round % 2 === 0 ? (['json', 'raw'] as const) : (['raw', 'json'] as const)) {
    results.push([form, await saturate(form)]);
  }
  const after = await limit.measure(seconds);
  limits.push(before, after);
  const perSecond = (before.perSecond + after.perSecond) / 2;
  for (const [form, result] of results) {
    saturation[form].push({ ...result, ratio: result.perSecond / perSecond });
  }
  lone.narrow.push(...(await limit.measure(loneSeconds, 1)).timesMs);
  lone.wide.push(...(await wideLimit.measure(loneSeconds)).timesMs);
  lone.served.push(...(await loneTimes(loads.raw)));
  lone.windowed.push(...(await loneTimes(loads.windowed)));
}
const metrics = await server.metrics();
for (const load of Object.values(loads)) load.stop();
await Promise.all([server.stop(), windowed.stop()]);
limit.stop();
wideLimit.stop();

const limitRate = median(limits.map(({ perSecond }) => perSecond));
const limitCpu = median(limits.map(({ cpuMs }) => cpuMs));
console.log(
  `\n${cpus()[0]?.model ?? 'unknown CPU'}, ${String(availableParallelism())} cores, Node ${process.version}\n` +
    `plan: ${String(sessions)} × ${String(threads)} threads, max batch ${String(model.plan.max_batch)} (${model.plan.why})\n` +
    `${String(images.length)} photos, ${String(concurrency)} connections, ${String(rounds)} rounds of ${String(seconds)} s\n`,
);
const rows = (['json', 'raw'] as const).map((form) => {
  const runs = saturation[form];
  const latencies = runs.flatMap(({ latenciesMs }) => latenciesMs);
  const mid = (pick: (run: Saturation) => number): number => median(runs.map(pick));
  return [
    form === 'json' ? 'JSON + base64' : 'raw bytes',
    mid((run) => run.perSecond).toFixed(1),
    mid((run) => run.ratio).toFixed(3),
    ...[50, 95, 99].map((p) => percentile(latencies, p).toFixed(1)),
    mid((run) => run.cpuMs.engine).toFixed(2),
    mid((run) => run.cpuMs.http).toFixed(2),
    mid((run) => run.cpuMs.generator).toFixed(2),
    String(runs.reduce((sum, run) => sum + run.failures, 0)),
  ];
});
const header = ['', 'images/s', 'of the limit', 'p50', 'p95', 'p99'];
const cpuHeader = ['CPU ms/request: engine', 'HTTP', 'generator', 'failed'];
const limitRow = ['limit', limitRate.toFixed(1), '1.000', '', '', '', limitCpu.toFixed(2)];
console.log(alignColumns([[...header, ...cpuHeader], limitRow, ...rows]).join('\n'));

const p50 = (times: readonly number[]): number => percentile(times, 50);
const best = Math.min(p50(lone.narrow), p50(lone.wide));
console.log(
  `\nlone request, p50: limit ${p50(lone.narrow).toFixed(2)} ms with the plan's threads, ` +
    `${p50(lone.wide).toFixed(2)} ms with all cores\n` +
    `  served ${p50(lone.served).toFixed(2)} ms (+${(p50(lone.served) - best).toFixed(2)} ms over the better limit), ` +
    `p95 ${percentile(lone.served, 95).toFixed(2)}, p99 ${percentile(lone.served, 99).toFixed(2)}\n` +
    `  with a fixed window of 10 ms ${p50(lone.windowed).toFixed(2)} ms`,
);
const delay = /shoal_event_loop_delay_seconds\{quantile="0\.99"\} (\S+)/.exec(metrics)?.[1];
console.log(`event-loop delay of the HTTP process, p99: ${(Number(delay) * 1000).toFixed(1)} ms`);
console.log(
  `memory at saturation: ${(peak.rss / 2 ** 20).toFixed(0)} MiB resident in all processes, ` +
    `${(peak.pss / 2 ** 20).toFixed(0)} MiB with shared pages counted once`,
);
