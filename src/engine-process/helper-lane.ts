import { expecting, type HelperPool, type HelperThread } from './helper-pool.js';
import type { Lane, LaneAnswer, LaneTask } from './lane-messages.js';

/** One helper as the batcher sees it: it decodes when nothing more urgent is to be done. */
export class HelperLane implements Lane {
  readonly hasSession = false;
  readonly hasWide = false;
  readonly canDecode = true;
  readonly canStage = false;
  readonly #pool: HelperPool;
  readonly #thread: HelperThread;

  constructor(pool: HelperPool, thread: HelperThread) {
    this.#pool = pool;
    this.#thread = thread;
  }

  get isIdle(): boolean {
    return this.#thread.isIdle;
  }

  get busySince(): number | undefined {
    return this.#thread.busySince;
  }

  assign(task: LaneTask, onAnswer: (answer: LaneAnswer) => void): void {
    if (task.kind !== 'decode') throw new Error('a helper has no session');
    const waiting = { task, transfer: [], onAnswer: expecting('decoded', onAnswer) };
    this.#pool.post(this.#thread, waiting);
  }
}
