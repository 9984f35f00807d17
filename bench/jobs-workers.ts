import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { endWithThis } from './end-with-this.js';
import { JobsClient } from './jobs-client.js';
import { BenchServer } from './server.js';

export interface WorkersOptions {
  readonly root: string;
  /** A model that sleeps, so that cores are not what is shared. */
  readonly model: string;
  readonly image: Buffer;
  readonly redisUrl: string;
  /** What one worker is given. */
  readonly jobs: number;
  readonly rounds: number;
  readonly tell: (text: string) => void;
}

/** Jobs per second of one worker and of two, by round. */
export interface WorkersRound {
  readonly one: number;
  readonly two: number;
}

/** Not counted at the beginning and at the end of a backlog, when not everybody is busy. */
const EDGE = 0.1;

export async function measureWorkers(options: WorkersOptions): Promise<WorkersRound[]> {
  const found: WorkersRound[] = [];
  for (let round = 0; round < options.rounds; round++) {
    const one = await drainWith(options, 1, `one-${String(round)}`);
    const two = await drainWith(options, 2, `two-${String(round)}`);
    options.tell(
      `round ${String(round + 1)}: one worker ${one.toFixed(1)}/s, two ${two.toFixed(1)}/s`,
    );
    found.push({ one, two });
  }
  return found;
}

async function drainWith(options: WorkersOptions, workers: number, name: string): Promise<number> {
  const { root, redisUrl, model, image } = options;
  const queue = ['--profile', 'off', '--queue', redisUrl, '--queue-prefix', name];
  const api = await BenchServer.start(root, [...queue, '--no-worker', model]);
  const count = workers * options.jobs;
  await new JobsClient(api.port).fill([image], count, 'image/png');
  const started = await Promise.all(
    Array.from({ length: workers }, () => startWorker(root, [...queue, model])),
  );
  const clients = started.map(({ port }) => new JobsClient(port));
  const done = async (): Promise<number> =>
    (await Promise.all(clients.map((client) => client.attempts()))).reduce((a, b) => a + b, 0);
  const reached = async (
    share: number,
  ): Promise<{ readonly at: number; readonly count: number }> => {
    for (;;) {
      const now = { at: performance.now(), count: await done() };
      if (now.count >= share * count) return now;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const first = await reached(EDGE);
  const last = await reached(1 - EDGE);
  for (const { child } of started) {
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    await exit;
  }
  await api.stop();
  return ((last.count - first.count) * 1000) / (last.at - first.at);
}

async function startWorker(
  root: string,
  flags: readonly string[],
): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  const args = [`${root}/dist/cli/main.js`, 'worker', '--port', '0', '--log-format', 'json'];
  const child = spawn(process.execPath, [...args, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  endWithThis(child);
  const port = await new Promise<number>((resolve, reject) => {
    child.once('exit', (code) => {
      reject(new Error(`the worker ended with code ${String(code)}`));
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
      const { url } = JSON.parse(line) as { url?: string };
      if (url !== undefined) resolve(Number(new URL(url).port));
    });
  });
  return { child, port };
}
