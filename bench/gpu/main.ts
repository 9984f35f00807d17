/**
 * npm run bench:gpu [-- --help]
 *
 * Everything about a machine with a GPU, unattended. A part that fails or takes too long does not
 * end the run, and what was found is written after every measurement.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheFolderFor } from '../../src/config/environment.js';
import { forThisProcess } from '../arguments.js';
import { benchImages } from '../images.js';
import type { Part } from './context.js';
import { measureCrashes } from './crash.js';
import { measureDecode } from './decode.js';
import { describeMachine } from './machine.js';
import { GPU_BENCH, type GpuOptions, parseOptions, type PartName } from './options.js';
import { resultsPage } from './page.js';
import { measureRaw } from './raw.js';
import { emptyResults } from './results.js';
import { runPart } from './run-part.js';
import { measureBatch1, measureServed, measureSteps, measureSweep } from './served.js';
import { soak } from './soak.js';

const WORK: Readonly<Record<PartName, Part>> = {
  machine: describeMachine,
  raw: measureRaw,
  decode: measureDecode,
  served: measureServed,
  batch1: measureBatch1,
  sweep: measureSweep,
  steps: measureSteps,
  crash: measureCrashes,
  soak,
};

const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const started = performance.now();
const tell = (text: string): void => {
  const at = ((performance.now() - started) / 1000).toFixed(0).padStart(4);
  process.stderr.write(`${at} s  ${text}\n`);
};

async function runAll(options: GpuOptions): Promise<void> {
  const images = await benchImages(options.images);
  const out = resolve(options.out);
  const cacheDir = cacheFolderFor(options.cacheDir ?? '');
  mkdirSync(out, { recursive: true });
  mkdirSync(cacheDir, { recursive: true });
  const results = emptyResults(images.length, new Date().toISOString());
  const save = (): void => {
    writeFileSync(
      join(out, 'results.json'),
      `${JSON.stringify({ options, ...results }, null, 1)}\n`,
    );
    writeFileSync(join(out, 'results.md'), resultsPage(results));
  };
  const report = (error: unknown): void => {
    results.failures.push({
      part: options.parts[results.parts.length] ?? 'machine',
      what: 'unexpected',
      why: String(error),
    });
    save();
  };
  // A process of a part that was given up may still say something.
  process.on('uncaughtException', report).on('unhandledRejection', report);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => process.exit(1));
  }
  const context = { root, options, cacheDir, images, results, save, tell };
  for (const part of options.parts) {
    const left = options.budget - (performance.now() - started) / 1000;
    if (left <= 0) {
      results.parts.push({ part, outcome: 'skipped', seconds: 0, why: 'no time was left' });
      continue;
    }
    tell(part);
    const limit = Math.min(left, options.limits[part]);
    const outcome = await runPart(part, WORK[part], context, limit);
    results.parts.push(outcome);
    tell(`${part}: ${outcome.outcome}${outcome.why === undefined ? '' : `, ${outcome.why}`}`);
    save();
  }
  save();
  tell(`written to ${out}`);
  // Whatever is left of a part that was given up must not keep this from ending.
  process.exit();
}

const options = forThisProcess(GPU_BENCH, parseOptions);
try {
  if (options.pack === undefined) await runAll(options);
  else {
    const { pack } = await import('./pack.js');
    await pack(root, resolve(options.pack), options);
  }
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
