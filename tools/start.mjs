/**
 * `npm start`: builds if the sources are newer than the build, then runs `shoal serve` in this very
 * process, so that signals reach it. Plain JavaScript, because nothing is built yet.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const stamp = `${root}/dist/.built`;
const sources = ['src', 'package.json', 'tsconfig.json', 'tsconfig.build.json'];

function changedAt(path) {
  const entry = statSync(path, { throwIfNoEntry: false });
  if (!entry?.isDirectory()) return entry?.mtimeMs ?? 0;
  return Math.max(0, ...readdirSync(path).map((name) => changedAt(`${path}/${name}`)));
}

if (changedAt(stamp) < Math.max(...sources.map((name) => changedAt(`${root}/${name}`)))) {
  console.error('building…');
  const started = new Date();
  const tsc = fileURLToPath(import.meta.resolve('typescript/bin/tsc'));
  execFileSync(process.execPath, [tsc, '-p', `${root}/tsconfig.build.json`], { stdio: 'inherit' });
  mkdirSync(`${root}/dist`, { recursive: true });
  writeFileSync(stamp, '');
  // The time of the start: what is saved during the build must be built next time.
  utimesSync(stamp, started, started);
}
if (process.argv[2] !== '--build-only') {
  process.argv.splice(2, 0, 'serve');
  await import('../dist/cli/main.js');
}
