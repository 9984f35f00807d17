import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolderFor } from '../config/environment.js';
import { GPU_FOLDER } from '../gpu/installation.js';
import { VULKAN_LOADER } from '../gpu/vulkan.js';
import { thisMachine } from '../planning/machine.js';
import { LocalHost } from '../tune/host.js';
import { reportOf } from '../tune/report.js';
import { type TuneOutcome, Tuner } from '../tune/tuner.js';
import { VERSION } from '../version.js';
import { checkWritable, readImages } from './files.js';
import { parseTuneArgs, type TuneArgs } from './tune-args.js';
import { TUNE_HELP } from './tune-help.js';
import { TuneProgressBar } from './tune-progress.js';

const INTERRUPTED = 130;

/** `shoal tune`: searches the best plan for a model on this machine. */
export async function tune(args: string[]): Promise<void> {
  const parsed = parseTuneArgs(args);
  if (parsed === 'help') {
    console.log(TUNE_HELP);
    return;
  }
  const images = readImages(parsed.images);
  checkWritable('json', parsed.json);
  checkWritable('svg', parsed.svg);
  const stop = new AbortController();
  const { model, device, form } = parsed;
  const cacheFolder = cacheFolderFor(parsed.cacheDir);
  const libraries = [GPU_FOLDER, VULKAN_LOADER].map((name) => join(cacheFolder, name));
  const host = new LocalHost({ model, device, libraries }, { images, form });
  const interrupt = (): void => {
    // A second Ctrl-C is a person who does not want to wait for results.
    if (stop.signal.aborted) {
      host.close();
      process.exit(INTERRUPTED);
    }
    stop.abort();
    host.kill();
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  const progress = new TuneProgressBar(process.stderr);
  try {
    const { targetP99Ms, rate, seconds, rounds, maxBatch, windows } = parsed;
    const { cores } = thisMachine();
    const { signal } = stop;
    const limits = { targetP99Ms, rate, seconds, rounds, windows, largestBatch: maxBatch };
    const tuner = new Tuner({ ...limits, cores, signal, onProgress: progress.tell }, host);
    await tuner.run();
    progress.stop();
    write(parsed, images.length, tuner.outcome, signal.aborted);
  } finally {
    progress.stop();
    host.close();
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
  if (stop.signal.aborted) process.exitCode = INTERRUPTED;
}

function write(args: TuneArgs, images: number, outcome: TuneOutcome, isEarly: boolean): void {
  const { targetP99Ms, json, svg } = args;
  const model = args.model ?? 'the bundled model';
  const { name: machine } = thisMachine();
  const report = reportOf(outcome, { model, targetP99Ms });
  if (svg !== undefined) writeFileSync(svg, report.svg);
  if (json !== undefined) {
    const { rate, seconds, rounds, maxBatch, windows, form } = args;
    const everything = {
      version: VERSION,
      machine,
      model: args.model ?? null,
      device: outcome.device,
      images,
      settings: { targetP99Ms, rate, seconds, rounds, maxBatch, windows, form },
      endedEarly: isEarly,
      ...report.facts,
    };
    const text = `${JSON.stringify(everything, undefined, 2)}\n`;
    if (json === '-') {
      process.stdout.write(text);
      return;
    }
    writeFileSync(json, text);
  }
  const where = outcome.device === 'cpu' ? machine : `${outcome.device} (${machine})`;
  console.log(`\n${model} on ${where}\n\n${report.text}`);
  if (isEarly) console.log('\nEnded early.');
}
