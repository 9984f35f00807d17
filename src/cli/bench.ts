import { writeFileSync } from 'node:fs';
import { capacityOf } from '../load/capacity.js';
import { figure } from '../load/chart.js';
import { PreparedRequest } from '../load/prepared-request.js';
import { type BenchArgs, parseBenchArgs } from './bench-args.js';
import { checkServer } from './bench-check.js';
import { BENCH_HELP } from './bench-help.js';
import { type Measured, measure } from './bench-measure.js';
import { report } from './bench-report.js';
import { checkWritable, readImages } from './files.js';

/** `shoal bench`: measures a running server. */
export async function bench(args: string[]): Promise<void> {
  const parsed = parseBenchArgs(args);
  if (parsed === 'help') {
    console.log(BENCH_HELP);
    return;
  }
  const images = readImages(parsed.images);
  checkWritable('json', parsed.json);
  const target = await checkServer({ ...parsed, image: images[0] });
  const { url, form, apiKey } = parsed;
  const shape = { host: target.host, path: url.pathname + url.search, form, apiKey };
  const [first, ...more] = images;
  const stop = new AbortController();
  const interrupt = (): void => {
    stop.abort();
  };
  // A second Ctrl-C finds no handler and ends the process.
  process.once('SIGINT', interrupt);
  const outcome = await measure(parsed, {
    target,
    requests: [
      new PreparedRequest(first, shape),
      ...more.map((one) => new PreparedRequest(one, shape)),
    ],
    signal: stop.signal,
  });
  process.off('SIGINT', interrupt);
  write(parsed, images.length, outcome, stop.signal.aborted);
  if (stop.signal.aborted) process.exitCode = 130;
}

function write(args: BenchArgs, images: number, { runs, steps }: Measured, isEarly: boolean): void {
  const capacity = steps === undefined ? undefined : (capacityOf(steps) ?? null);
  if (args.json !== undefined) {
    const { arrivals, seconds, timeoutMs, retryShare, seed, connections, form } = args;
    const everything = {
      url: args.url.href,
      form,
      images,
      settings: { arrivals, seconds, timeoutMs, retryShare, seed, connections },
      endedEarly: isEarly,
      ...(capacity === undefined
        ? {}
        : { capacityPerSecond: capacity, sloP99Ms: args.sloP99Ms ?? null }),
      runs: runs.map(({ rate, run }) => ({ rate, ...run.result })),
    };
    const text = `${JSON.stringify(everything, null, 2)}\n`;
    if (args.json === '-') {
      process.stdout.write(text);
      return;
    }
    writeFileSync(args.json, text);
  }
  const { url, form, arrivals, seconds, timeoutMs } = args;
  console.log(
    `\n${url.href}: ${String(images)} ${images === 1 ? 'photo' : 'photos'} as ` +
      `${form === 'json' ? 'JSON' : 'raw bytes'}, ${arrivals} arrivals, ${String(seconds)} s per ` +
      `rate, clients wait ${String(timeoutMs)} ms\n\n${report(runs)}`,
  );
  if (isEarly) console.log('\nEnded early.');
  if (capacity === undefined) return;
  const slo =
    args.sloP99Ms === undefined ? '' : ` with a p99 of at most ${String(args.sloP99Ms)} ms`;
  console.log(
    capacity === null
      ? `\nNo rate was found at which 99 % are answered in time${slo}.`
      : `\nCapacity: about ${figure(capacity)} requests per second${slo}.`,
  );
}
