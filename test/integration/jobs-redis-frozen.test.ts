import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JobStore } from '../../src/jobs/job-store.js';
import { openRedisStore } from '../../src/jobs/redis/open.js';
import { inState, LIMITS, ManualConsumer, newJob } from '../helpers/jobs.js';
import { isWithoutRedis, RedisServer } from '../helpers/redis.js';
import { newPrefix, SILENT } from '../helpers/redis-store.js';
import { until } from '../helpers/server.js';

/** A worker in a process of its own, with what it says. */
class WorkerProcess {
  readonly lines: string[] = [];
  readonly #child: ChildProcess;

  constructor(url: string, prefix: string) {
    const args = ['--import', 'tsx', 'test/helpers/redis-worker.ts', url, prefix];
    this.#child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on('line', (line) =>
      this.lines.push(line),
    );
  }

  async says(line: string): Promise<void> {
    await until(() => this.lines.includes(line));
  }

  decide(verdict: 'completed' | 'failed'): void {
    this.#child.stdin?.write(`${verdict}\n`);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async close(): Promise<void> {
    this.#child.stdin?.end();
    await this.says('closed');
  }
}

describe.skipIf(isWithoutRedis('frozen workers'))('workers in processes of their own', () => {
  let server: RedisServer;
  let store: JobStore;
  let prefix: string;
  let workers: WorkerProcess[];
  const start = async (): Promise<WorkerProcess> => {
    const worker = new WorkerProcess(server.url, prefix);
    workers.push(worker);
    await worker.says('ready');
    return worker;
  };

  beforeEach(async () => {
    server = await RedisServer.start();
    prefix = newPrefix();
    workers = [];
    store = await openRedisStore({ url: server.url, prefix, limits: LIMITS, log: SILENT });
  });
  afterEach(async () => {
    for (const worker of workers) worker.signal('SIGKILL');
    await store.close();
    await server.stop();
  });

  it('that freeze lose their job, and what they say later is ignored', async () => {
    const frozen = await start();
    const job = newJob();
    await store.submit(job);
    await frozen.says(`claimed ${job.id} 0`);
    frozen.signal('SIGSTOP');
    const other = new ManualConsumer(store);
    // Its lease has to run out before.
    expect((await other.claimed(0)).job).toMatchObject({ id: job.id, losses: 1 });
    frozen.signal('SIGCONT');
    await frozen.says(`lost ${job.id}`);
    frozen.decide('failed');
    await frozen.close();
    expect(await store.get(job.id)).toMatchObject({ state: 'running' });
    await other.settle(0);
    expect(await inState(store, job.id, 'completed')).toMatchObject({ losses: 1, tries: 0 });
    await other.consumer.close();
    expect(frozen.lines.filter((line) => line.startsWith('claimed'))).toHaveLength(1);
  });

  it('that wake up after the job has ended change nothing', async () => {
    const frozen = await start();
    const job = newJob();
    await store.submit(job);
    await frozen.says(`claimed ${job.id} 0`);
    frozen.signal('SIGSTOP');
    const other = new ManualConsumer(store);
    await other.settle(0);
    const ended = await inState(store, job.id, 'completed');
    await other.consumer.close();
    // Its verdict is there before it knows what happened.
    frozen.decide('failed');
    frozen.signal('SIGCONT');
    await frozen.close();
    expect(await store.get(job.id)).toEqual(ended);
  });

  it('that are killed lose nothing', async () => {
    const killed = await start();
    const jobs = [newJob(), newJob()];
    for (const job of jobs) await store.submit(job);
    await killed.says(`claimed ${jobs[0]?.id ?? ''} 0`);
    killed.signal('SIGKILL');
    const other = await start();
    const claims = (): string[] => other.lines.filter((line) => line.startsWith('claimed'));
    for (let n = 1; n <= 2; n++) {
      await until(() => claims().length === n);
      other.decide('completed');
    }
    await other.close();
    for (const { id } of jobs) expect(await store.get(id)).toMatchObject({ state: 'completed' });
  });
});
