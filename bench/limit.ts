import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { EngineConfig } from '../src/engine/messages.js';

interface Share {
  readonly times: number[];
  readonly cpu: NodeJS.CpuUsage;
}

/** What this machine can do with no HTTP at all: one tight loop per session of the plan. */
export class Limit {
  readonly #workers: readonly ChildProcess[];

  private constructor(workers: readonly ChildProcess[]) {
    this.#workers = workers;
  }

  static async start(
    engine: EngineConfig,
    images: readonly Buffer[],
    root: string,
  ): Promise<Limit> {
    const entry = fileURLToPath(new URL('./limit-worker.ts', import.meta.url));
    const workers = await Promise.all(
      Array.from({ length: engine.plan.sessions }, async () => {
        const worker = fork(entry, {
          execArgv: ['--import', 'tsx'],
          env: { ...process.env, ORT_DISABLE_TELEMETRY: '1' },
        });
        worker.send({ engine, images: images.map((image) => image.toString('base64')), root });
        await once(worker, 'message');
        return worker;
      }),
    );
    return new Limit(workers);
  }

  /** @param sessions how many of them take part */
  async measure(
    seconds: number,
    sessions = this.#workers.length,
  ): Promise<{ perSecond: number; timesMs: number[]; cpuMs: number }> {
    const started = performance.now();
    const shares = await Promise.all(
      this.#workers.slice(0, sessions).map(async (worker) => {
        worker.send(seconds);
        const [share] = (await once(worker, 'message')) as [Share];
        return share;
      }),
    );
    const elapsed = (performance.now() - started) / 1000;
    const timesMs = shares.flatMap(({ times }) => times);
    const cpu = shares.reduce((sum, share) => sum + share.cpu.user + share.cpu.system, 0);
    return { perSecond: timesMs.length / elapsed, timesMs, cpuMs: cpu / 1000 / timesMs.length };
  }

  stop(): void {
    for (const worker of this.#workers) worker.kill();
  }
}
