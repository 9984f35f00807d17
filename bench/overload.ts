/**
 * npm run bench:overload [-- --help]
 *
 * Finds the most the server can do, then offers it half, once, twice and five times that, and says
 * which promises about overload it kept.
 */
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { figure } from '../src/load/chart.js';
import { number, PEAK_SETTINGS, readArguments } from './arguments.js';
import { benchImages } from './images.js';
import { LoadProcess } from './load-process.js';
import { MemorySamples } from './memory-samples.js';
import {
  type OverloadFindings,
  type OverloadStep,
  overloadTable,
  recoveredAfterMs,
  verdictLine,
  verdicts,
} from './overload-report.js';
import { BenchServer } from './server.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values, serverFlags } = readArguments({
  name: 'bench:overload',
  about:
    'Offers a server half, once, twice and five times what it can answer, and says which promises it kept.',
  takesServerFlags: true,
  settings: { ...PEAK_SETTINGS, seconds: number(60, 'Seconds of every step') },
});
const { seconds, concurrency, form } = values;
const WARM_UP_SECONDS = 10;
const PEAK_SECONDS = 10;
const LONE_SECONDS = 3;
const FACTORS = [0.5, 1, 2, 5];
const CLIENT = { timeoutMs: 1000, retryShare: 0.03 };

const tell = (text: string): void => {
  process.stderr.write(`${text}\n`);
};
const images = await benchImages(values.images);
const server = await BenchServer.start(root, serverFlags);
const load = await LoadProcess.start({
  url: `http://127.0.0.1:${String(server.port)}`,
  form,
  images,
});

tell(`warming up for ${String(WARM_UP_SECONDS)} s`);
await load.run({ kind: 'closed', concurrency, seconds: WARM_UP_SECONDS });
const findPeak = async (): Promise<number> => {
  const { run } = await load.run({ kind: 'closed', concurrency, seconds: PEAK_SECONDS });
  return run.result.goodput;
};
const closedPeak = await findPeak();
const { run: loneBefore } = await load.run({
  kind: 'closed',
  concurrency: 1,
  seconds: LONE_SECONDS,
});
const loneP50Ms = loneBefore.result.latencyMs?.p50 ?? Number.NaN;
tell(`peak ${figure(closedPeak)}/s, a lone request takes ${figure(loneP50Ms)} ms`);

const steps: OverloadStep[] = [];
let recovered: number | null = null;
let before = closedPeak;
for (const factor of FACTORS) {
  const rate = factor * closedPeak;
  tell(`${String(factor)}×: ${figure(rate)}/s for ${String(seconds)} s`);
  const isLast = factor === FACTORS.at(-1);
  const samples = new MemorySamples(server);
  const { run, lone } = await load.run({
    kind: 'open',
    rate,
    seconds,
    ...CLIENT,
    ...(isLast ? { loneSeconds: LONE_SECONDS } : {}),
  });
  const memory = samples.stop();
  const after = await findPeak();
  steps.push({ factor, rate, peak: (before + after) / 2, result: run.result, memory });
  before = after;
  if (lone !== undefined) recovered = recoveredAfterMs(lone, loneP50Ms);
}
load.stop();
await server.stop();

const findings: OverloadFindings = {
  closedPeak,
  loneP50Ms,
  recoveredAfterMs: recovered,
  steps,
};
const machine = {
  cpu: cpus()[0]?.model ?? 'unknown CPU',
  cores: availableParallelism(),
  node: process.version,
};
const judged = verdicts(findings);
console.log(`\n${machine.cpu}, ${String(machine.cores)} cores, Node ${machine.node}`);
console.log(
  `${String(images.length)} photos as ${form === 'json' ? 'JSON' : 'raw bytes'}, ${String(seconds)} s ` +
    `per step, peak ${figure(closedPeak)}/s, ` +
    `lone request ${figure(loneP50Ms)} ms\n`,
);
console.log(overloadTable(findings));
console.log(`\n${judged.map(verdictLine).join('\n')}`);
for (const { factor, result } of steps) {
  if (result.latenessP99Ms > 20) {
    console.log(`at ${String(factor)}× the generator was late itself: do not trust that line`);
  }
  const lost = [...Object.entries(result.errors), ['unsent', result.unsent] as const].filter(
    ([, count]) => count > 0,
  );
  for (const [what, count] of lost)
    console.log(`at ${String(factor)}×: ${String(count)} × ${what}`);
}
if (values.json !== undefined) {
  const settings = { form, seconds, concurrency, photos: images.length, ...CLIENT };
  const everything = { machine, settings, ...findings, verdicts: judged };
  writeFileSync(values.json, `${JSON.stringify(everything, null, 2)}\n`);
}
