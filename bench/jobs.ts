/**
 * npm run bench:jobs [-- --help]
 *
 * What jobs cost and what they bring, each against something measured in the same run. The last
 * two parts start a Redis of their own, and are left out where there is none.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stubModels } from '../test/helpers/server.js';
import { solidPng } from '../test/helpers/pictures.js';
import { IMAGES, list, number, readArguments } from './arguments.js';
import { benchImages } from './images.js';
import { measureLatency } from './jobs-latency.js';
import { startRedis } from './jobs-redis.js';
import { latencyTable, throughputTable, workersTable } from './jobs-report.js';
import { measureThroughput } from './jobs-throughput.js';
import { measureWorkers } from './jobs-workers.js';

const PARTS = ['latency', 'throughput', 'redis', 'workers'] as const;
const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = readArguments({
  name: 'bench:jobs',
  about: 'What jobs cost and what they bring, each against something measured in the same run.',
  settings: {
    parts: list(PARTS, hasRedis ? PARTS : ['latency', 'throughput'], 'What to measure'),
    seconds: number(6, 'Seconds of every measurement'),
    rounds: number(20, 'How often the two servers take turns; a fifth of that in other parts'),
    share: number(0.2, 'Requests beside the backlog, as a share of the peak'),
    images: IMAGES,
  },
});
const { parts, seconds, rounds } = values;
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
    share: values.share,
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
