/**
 * npm run bench:transport [-- --help]
 *
 * What it costs to carry a request: a model that takes no time, bodies as large as photos that take
 * next to none to decode, and the CPU of every process and thread per request.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { JSON_FILE, list, number, optionalNumber, readArguments } from './arguments.js';
import { LoadProcess } from './load-process.js';
import { BenchServer } from './server.js';
import { type ProcessTime, readProcess, useBetween } from './threads.js';
import { padJpeg } from './transport-body.js';
import { type TransportRun, transportTable } from './transport-report.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const FORMS = ['raw', 'json'] as const;
const { values, serverFlags } = readArguments({
  name: 'bench:transport',
  about: 'What a request costs besides the model, by process and thread.',
  takesServerFlags: true,
  settings: {
    seconds: number(5, 'Seconds of every measurement'),
    rounds: number(1, 'How often each form is measured'),
    concurrency: number(32, 'Connections'),
    form: list(FORMS, FORMS, 'What requests look like'),
    bytes: number(150_000, 'Bytes of every image'),
    'http-workers': optionalNumber('HTTP processes of the server'),
    json: JSON_FILE,
  },
});
const { seconds, concurrency, form: forms } = values;
/** Long enough for V8 to optimise the request path. */
const WARM_UP_SECONDS = 5;
const PICTURES = 6;

const folder = mkdtempSync(join(tmpdir(), 'shoal-transport-'));
process.once('exit', () => {
  rmSync(folder, { recursive: true, force: true });
});

/** A model that gives an answer at once and asks for no pixels. */
function stubModel(): string {
  const path = join(folder, 'stub');
  mkdirSync(path);
  const manifest = { head: 'ssd', runtime: 'stub', input: { width: 8, height: 8 } };
  writeFileSync(join(path, 'shoal.json'), JSON.stringify({ ...manifest, labels: ['thing'] }));
  writeFileSync(join(path, 'model.onnx'), JSON.stringify({ skip_decode: true }));
  return path;
}

const images = await Promise.all(
  Array.from({ length: PICTURES }, async (_, at) => {
    const background = { r: 40 * at, g: 20 * at, b: 255 - 40 * at };
    const jpeg = sharp({ create: { width: 8, height: 8, channels: 3, background } }).jpeg();
    return padJpeg(await jpeg.toBuffer(), values.bytes);
  }),
);
const workers =
  values['http-workers'] === undefined ? [] : ['--http-workers', String(values['http-workers'])];
const flags = ['--profile', 'off', '--max-wait-ms', '600000', ...workers];
const server = await BenchServer.start(root, [...flags, ...serverFlags, stubModel()], {
  env: { NODE_ENV: 'test', SHOAL_CACHE_DIR: folder },
});
const url = `http://127.0.0.1:${String(server.port)}`;
const loads = new Map(
  await Promise.all(
    forms.map(async (form) => [form, await LoadProcess.start({ url, form, images })] as const),
  ),
);

async function measure(form: 'raw' | 'json', load: LoadProcess): Promise<TransportRun> {
  const read = (): ProcessTime[] => [
    ...server.threadTimes(),
    readProcess(load.pid, 'load generator'),
  ];
  const before = read();
  const { run } = await load.run({ kind: 'closed', concurrency, seconds });
  const { ok, sent, goodput, latencyMs } = run.result;
  return {
    form,
    perSecond: goodput,
    p50: latencyMs?.p50 ?? Number.NaN,
    p99: latencyMs?.p99 ?? Number.NaN,
    failed: sent - ok,
    uses: useBetween(before, read(), ok),
  };
}

for (const load of loads.values()) {
  await load.run({ kind: 'closed', concurrency, seconds: WARM_UP_SECONDS });
}
const runs: TransportRun[] = [];
for (let round = 0; round < values.rounds; round++) {
  for (const [form, load] of loads) runs.push(await measure(form, load));
}
for (const load of loads.values()) load.stop();
await server.stop();

console.log(
  `\n${cpus()[0]?.model ?? 'unknown CPU'}, ${String(availableParallelism())} cores, Node ${process.version}\n` +
    `bodies of ${String(values.bytes)} bytes, ${String(concurrency)} connections, ${String(seconds)} s each\n`,
);
console.log(transportTable(runs));
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(runs, null, 2)}\n`);
