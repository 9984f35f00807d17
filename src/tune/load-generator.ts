import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { LoadResult } from '../load/load-result.js';
import type { Form } from '../load/prepared-request.js';
import type { Children } from './children.js';

export interface Photos {
  readonly images: readonly Uint8Array[];
  readonly form: Form;
}

/** A load to be sent to a server. */
export type LoadJob = { readonly url: string; readonly seconds: number } & (
  | { readonly kind: 'closed'; readonly concurrency: number }
  | { readonly kind: 'open'; readonly rate: number }
);

export type LoadOrder = { readonly photos: Photos } | { readonly job: LoadJob };
export type LoadReply = { readonly result: LoadResult | null } | { readonly problem: string };

const WORKER = fileURLToPath(new URL('./load-worker.js', import.meta.url));

/**
 * Sends the load from a process of its own. It draws no progress and reads no logs, so nothing
 * that this process does makes a request late, and the garbage of one is not the pause of the other.
 */
export class LoadGenerator {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(photos: Photos, children: Children): Promise<LoadGenerator> {
    const child = fork(WORKER, [], { serialization: 'advanced' });
    children.add(child);
    // Whoever waits for an answer then learns that there will be none.
    child.once('exit', (code) => {
      if (child.listenerCount('error') === 0) return;
      child.emit('error', new Error(`the load generator ended with code ${String(code)}`));
    });
    const generator = new LoadGenerator(child);
    await generator.#ask({ photos });
    return generator;
  }

  async run(job: LoadJob): Promise<LoadResult> {
    const result = await this.#ask({ job });
    if (result === null) throw new Error('the load generator has no result');
    return result;
  }

  async #ask(order: LoadOrder): Promise<LoadResult | null> {
    this.#child.send(order);
    const [reply] = (await once(this.#child, 'message')) as [LoadReply];
    if ('problem' in reply) throw new Error(reply.problem);
    return reply.result;
  }
}
