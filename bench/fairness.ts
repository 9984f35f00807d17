/**
 * npm run bench:fairness [-- --help]
 *
 * Two tenants share a server. B asks for a tenth of what it can do: alone, beside A that asks for
 * half, and beside A that asks for five times all of it. Says whether B notices.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { figure } from '../src/load/chart.js';
import { number, PEAK_SETTINGS, readArguments } from './arguments.js';
import {
  type FairnessCase,
  type FairnessFindings,
  fairnessTable,
  fairnessVerdicts,
  slowdown,
} from './fairness-report.js';
import { benchImages } from './images.js';
import { LoadProcess } from './load-process.js';
import { verdictLine } from './overload-report.js';
import { BenchServer } from './server.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values, serverFlags } = readArguments({
  name: 'bench:fairness',
  about:
    'Two tenants share a server. Says whether one that asks for little notices one that asks for far too much.',
  takesServerFlags: true,
  settings: { ...PEAK_SETTINGS, seconds: number(20, 'Seconds of every step') },
});
const { seconds, concurrency, form } = values;
const PEAK_SECONDS = Math.min(10, seconds);
const KEYS = { a: 'key-of-tenant-a', b: 'key-of-tenant-b' };
/** Shares of the peak. With two tenants of the same weight, half of it is A's. */
const [B_SHARE, A_SHARE, A_TOO_MUCH] = [0.1, 0.5, 5];
const CLIENT = { timeoutMs: 1000, retryShare: 0 };
const MAX_LATENESS_MS = 20;

const tell = (text: string): void => {
  process.stderr.write(`${text}\n`);
};
const images = await benchImages(values.images);
const folder = mkdtempSync(join(tmpdir(), 'shoal-fairness-'));
const config = join(folder, 'shoal.config.json');
const tenants = Object.entries(KEYS).map(([name, key]) => ({ name, api_key: key }));
writeFileSync(config, JSON.stringify({ tenants }));
const server = await BenchServer.start(root, ['--config', config, ...serverFlags]);
const generatorFor = (apiKey: string): Promise<LoadProcess> =>
  LoadProcess.start({ url: `http://127.0.0.1:${String(server.port)}`, form, images, apiKey });
const [a, b] = await Promise.all([generatorFor(KEYS.a), generatorFor(KEYS.b)]);

process.once('exit', () => {
  rmSync(folder, { recursive: true, force: true });
});

tell(`warming up, then finding the peak, ${String(PEAK_SECONDS)} s each`);
await a.run({ kind: 'closed', concurrency, seconds: PEAK_SECONDS });
const { run: closed } = await a.run({ kind: 'closed', concurrency, seconds: PEAK_SECONDS });
const peak = closed.result.goodput;
tell(`peak ${figure(peak)}/s`);

async function load(name: string, shareOfA: number): Promise<FairnessCase> {
  tell(`${name}: A ${figure(shareOfA * peak)}/s, B ${figure(B_SHARE * peak)}/s`);
  const [ofA, ofB] = await Promise.all([
    shareOfA === 0
      ? null
      : a.run({ kind: 'open', rate: shareOfA * peak, seconds, seed: 1, ...CLIENT }),
    b.run({ kind: 'open', rate: B_SHARE * peak, seconds, seed: 2, ...CLIENT }),
  ]);
  return { name, a: ofA?.run.result ?? null, b: ofB.run.result };
}

const findings: FairnessFindings = {
  peak,
  alone: await load('B alone', 0),
  fair: await load('A at its share', A_SHARE),
  greedy: await load('A at 10× its share', A_TOO_MUCH),
};
a.stop();
b.stop();
await server.stop();

const machine = {
  cpu: cpus()[0]?.model ?? 'unknown CPU',
  cores: availableParallelism(),
  node: process.version,
};
const judged = fairnessVerdicts(findings);
const againstAlone = slowdown(findings, findings.alone);
console.log(`\n${machine.cpu}, ${String(machine.cores)} cores, Node ${machine.node}`);
console.log(
  `${String(images.length)} photos as ${form === 'json' ? 'JSON' : 'raw bytes'}, ${String(seconds)} s ` +
    `per case, peak ${figure(peak)}/s\n`,
);
console.log(fairnessTable(findings));
console.log(`\n${judged.map(verdictLine).join('\n')}`);
if (againstAlone !== null) {
  console.log(`B's p99 with A at 10× its share is ${figure(againstAlone)} times that of B alone`);
}
for (const { name, b: ofB } of [findings.alone, findings.fair, findings.greedy]) {
  if (ofB.latenessP99Ms > MAX_LATENESS_MS) {
    console.log(`${name}: B's generator was late itself, do not trust that line`);
  }
}
if (values.json !== undefined) {
  const settings = { form, seconds, concurrency, photos: images.length, ...CLIENT };
  const everything = { machine, settings, ...findings, verdicts: judged };
  writeFileSync(values.json, `${JSON.stringify(everything, null, 2)}\n`);
}
