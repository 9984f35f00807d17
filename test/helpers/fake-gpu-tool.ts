import { chmodSync, mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

/** What the fake does. `die`: ends at once; `hang`: is there and says nothing. */
type Mode = 'lines' | 'die' | 'hang';

/** An `nvidia-smi` that says what a test wants, in a folder for the PATH. */
export class FakeGpuTool {
  readonly folder = mkdtempSync(join(tmpdir(), 'shoal-smi-'));

  constructor() {
    const script = join(this.folder, 'nvidia-smi');
    const at = (name: string): string => JSON.stringify(join(this.folder, name));
    writeFileSync(
      script,
      `#!${process.execPath}
const { appendFileSync, readFileSync, writeSync } = require('node:fs');
appendFileSync(${at('pids')}, process.pid + '\\n' + process.ppid + '\\n');
const isGpus = process.argv.some((one) => one.startsWith('--query-gpu='));
setInterval(() => {
  const { mode, gpus, processes } = JSON.parse(readFileSync(${at('state')}, 'utf8'));
  if (mode === 'die') process.exit(9);
  if (mode === 'lines') writeSync(1, isGpus ? gpus : processes);
}, 50);
`,
    );
    chmodSync(script, 0o755);
    writeFileSync(join(this.folder, 'pids'), '');
    this.#write('lines', '');
  }

  get environment(): Record<string, string> {
    return { PATH: `${this.folder}${delimiter}${process.env['PATH'] ?? ''}` };
  }

  /** Of all that were ever started, and of what guards each of them. */
  get pids(): number[] {
    return readFileSync(join(this.folder, 'pids'), 'utf8').split('\n').filter(Boolean).map(Number);
  }

  /** How much of 10,000 MiB is in use, by GPU. */
  use(...usedMiB: readonly number[]): void {
    this.say(usedMiB.map((used, index) => gpuLine(index, used)).join('\n') + '\n');
  }

  /** These very characters, again and again. */
  say(gpus: string): void {
    this.#write('lines', gpus);
  }

  become(mode: Mode): void {
    this.#write(mode, '');
  }

  /** In one step, since it is read all the time. */
  #write(mode: Mode, gpus: string): void {
    const staged = join(this.folder, 'staged');
    writeFileSync(staged, JSON.stringify({ mode, gpus, processes: '' }));
    renameSync(staged, join(this.folder, 'state'));
  }
}

export function gpuLine(index: number, usedMiB: number, busy = '7'): string {
  return `${String(index)}, GPU-0000000${String(index)}, Fake GPU, ${String(usedMiB)}, 10000, ${busy}`;
}
