/**
 * npm run chaos [-- --store embedded|redis] [--cycles 300] [--jobs 10000] [--seed N]
 *
 * Kills servers, workers and Redis while clients submit, read and cancel jobs; says whether
 * anything that was promised was broken. Linux only.
 */
import { parseArgs } from 'node:util';
import { alignColumns } from '../../src/load/table.js';
import { runChaos } from './run.js';

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'embedded' },
    cycles: { type: 'string', default: '300' },
    jobs: { type: 'string', default: '10000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    'drain-s': { type: 'string', default: '300' },
  },
});
const SHOWN = 20;

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
console.log(`seed ${values.seed}`);
const started = performance.now();
const { violations, counts, complaints } = await runChaos({
  store: values.store === 'redis' ? 'redis' : 'embedded',
  cycles: Number(values.cycles),
  jobs: Number(values.jobs),
  seed: Number(values.seed),
  drainMs: Number(values['drain-s']) * 1000,
  tell: (text) => {
    const seconds = ((performance.now() - started) / 1000).toFixed(0);
    console.log(`${seconds.padStart(5)} s  ${text}`);
  },
});

const rows = Object.entries(counts).map(([name, count]) => [name, String(count)]);
console.log(
  `\n${alignColumns([...rows, ['violations', String(violations.length)]], [0]).join('\n')}`,
);
if (complaints.size > 0) {
  const lines = [...complaints].map(([text, count]) => `  ${String(count)} × ${text}`);
  console.log(`\nlogged as errors on the way:\n${lines.join('\n')}`);
}
for (const violation of violations.slice(0, SHOWN)) console.log(`✗ ${violation}`);
if (violations.length > SHOWN) console.log(`… and ${String(violations.length - SHOWN)} more`);
process.exitCode = violations.length === 0 ? 0 : 1;
