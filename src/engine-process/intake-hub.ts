import { Worker } from 'node:worker_threads';
import type { IntakeOrder, ItemMeta } from '../engine/messages.js';
import type { Arrivals, IntakeTask } from './intake-messages.js';
import { giveBack, isKept, viewOf } from './shared-blocks.js';

const MAX_INTAKES = 8;

interface IntakeHost {
  onItem(meta: ItemMeta, bytes: Uint8Array): void;
  /** A thread is gone; nothing it held can be trusted any more. */
  onDeath(reason: string): void;
}

/** The main thread's end of the intakes: one for each process that sends items, up to a limit. */
export class IntakeHub {
  readonly #host: IntakeHost;
  readonly #workers = new Map<number, Worker>();
  /** Where items of each slot are taken from now. */
  readonly #paths = new Map<number, string>();
  readonly #owned = new WeakSet<SharedArrayBuffer>();

  constructor(host: IntakeHost) {
    this.#host = host;
  }

  follow({ engine, token, sources }: IntakeOrder): void {
    for (const { slot, path } of sources) {
      if (this.#paths.get(slot) === path) continue;
      this.#paths.set(slot, path);
      const task: IntakeTask = { engine, token, path };
      this.#workerOf(slot % MAX_INTAKES).postMessage(task);
    }
  }

  /** True when these bytes came from here; whoever held them must not touch them afterwards. */
  release({ buffer }: Uint8Array): boolean {
    if (!(buffer instanceof SharedArrayBuffer) || !this.#owned.has(buffer)) return false;
    giveBack(buffer);
    return true;
  }

  #workerOf(index: number): Worker {
    const known = this.#workers.get(index);
    if (known !== undefined) return known;
    const worker = new Worker(new URL('./intake.js', import.meta.url), { name: 'intake' });
    this.#workers.set(index, worker);
    const blocks = new Map<number, SharedArrayBuffer>();
    worker.on('message', (arrivals: Arrivals) => {
      for (const [number, block] of arrivals.blocks) {
        blocks.set(number, block);
        this.#owned.add(block);
      }
      this.#pass(arrivals.items, blocks);
    });
    worker.on('error', (error) => {
      this.#host.onDeath(error instanceof Error ? error.message : String(error));
    });
    worker.on('exit', (code) => {
      this.#host.onDeath(`an intake ended with code ${String(code)}`);
    });
    return worker;
  }

  #pass(items: Arrivals['items'], blocks: Map<number, SharedArrayBuffer>): void {
    for (let at = 0; at < items.length; at += 3) {
      const number = items[at] as number;
      const block = blocks.get(number) as SharedArrayBuffer;
      if (!isKept(block)) blocks.delete(number);
      const meta = JSON.parse(items[at + 2] as string) as ItemMeta;
      this.#host.onItem(meta, viewOf(block, items[at + 1] as number));
    }
  }
}
