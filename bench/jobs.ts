/**
 * npm run bench:jobs [-- --parts latency,throughput,redis,workers] [--seconds 6] [--rounds 20]
 *                    [--share 0.2] [--images DIR]
 *
 * What jobs cost and what they bring, each against something measured in the same run. The last
 * two parts start a Redis of their own, and are left out where there is none.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { stubModels } from '../test/helpers/server.js';
import { solidPng } from '../test/helpers/pictures.js';
import { benchImages } from './images.js';
import { measureLatency } from './jobs-latency.js';
import { startRedis } from './jobs-redis.js';
import { latencyTable, throughputTable, workersTable } from './jobs-report.js';
import { measureThroughput } from './jobs-throughput.js';
import { measureWorkers } from './jobs-workers.js';

function defaultParts(): string {
  const hasRedis = spawnSync('redis-server', ['--version']).status === 0;
  return hasRedis ? 'latency,throughput,redis,workers' : 'latency,throughput';
}

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({
  options: {
    parts: { type: 'string', default: defaultParts() },
    seconds: { type: 'string', default: '6' },
    rounds: { type: 'string', default: '20' },
    share: { type: 'string', default: '0.2' },
    images: { type: 'string' },
  },
});
const parts = values.parts.split(',');
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);
const tell = (text: string): void => {
  process.stderr.write(`${text}\n`);
};
const folder = mkdtempSync(join(tmpdir(), 'shoal-bench-jobs-'));
process.once('exit', () => {
  rmSync(folder, { recursive: true, force: true });
});

console.log(
  `${cpus()[0]?.model ?? 'unknown CPU'}, ${String(availableParallelism())} cores, Node ${process.version}`,
);
if (parts.includes('latency')) {
  const findings = await measureLatency({
    root,
    images: await benchImages(values.images),
    seconds,
    rounds,
    share: Number(values.share),
    flags: [
      ['--queue', 'embedded', '--data-dir', join(folder, 'without')],
      ['--queue', 'embedded', '--data-dir', join(folder, 'beside')],
    ],
    tell,
  });
  console.log(`\n${latencyTable(findings)}`);
}

// Stubs are refused by servers that are not for tests.
process.env['NODE_ENV'] = 'test';
const image = await solidPng([1, 2, 3], 64, 64);
const throughput = { root, folder, image, seconds, rounds: Math.ceil(rounds / 5), tell };
if (parts.includes('throughput')) {
  const model = stubModels({ stub: {} });
  const found = await measureThroughput({ ...throughput, model, redisUrl: undefined });
  console.log(`\n${throughputTable('embedded', 'synced inserts', found)}`);
}
if (parts.includes('redis') || parts.includes('workers')) {
  const redis = await startRedis(join(folder, 'redis'));
  process.once('exit', () => void redis.stop());
  if (parts.includes('redis')) {
    const model = stubModels({ stub: {} });
    const found = await measureThroughput({ ...throughput, model, redisUrl: redis.url });
    console.log(`\n${throughputTable('redis', 'SETs, synced', found)}`);
  }
  if (parts.includes('workers')) {
    const model = stubModels({ stub: { sleep_ms: 50 } });
    const options = {
      root,
      model,
      image,
      redisUrl: redis.url,
      jobs: 300,
      rounds: Math.ceil(rounds / 5),
      tell,
    };
    console.log(`\n${workersTable(await measureWorkers(options))}`);
  }
  await redis.stop();
}
