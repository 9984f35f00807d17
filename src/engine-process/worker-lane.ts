import type { Lane, LaneAnswer, LaneConfig, LaneTask } from './lane-messages.js';
import { type ThreadReady, WorkerThread } from './worker-thread.js';

/** A lane on a thread of its own that does everything itself. */
export class WorkerLane implements Lane {
  readonly #thread: WorkerThread<LaneTask, LaneAnswer>;
  readonly hasSession: boolean;
  readonly hasWide: boolean;
  readonly canDecode = true;
  readonly canStage = false;

  /** @param onDeath the thread is gone; nothing it held can be trusted any more */
  constructor(config: LaneConfig, onDeath: (reason: string) => void) {
    this.hasSession = config.hasSession;
    this.hasWide = config.hasWide;
    this.#thread = new WorkerThread('lane', config, onDeath);
  }

  get isIdle(): boolean {
    return this.#thread.isIdle;
  }

  get busySince(): number | undefined {
    return this.#thread.busySince;
  }

  assign(task: LaneTask, onAnswer: (answer: LaneAnswer) => void): void {
    this.#thread.post(task, [], onAnswer);
  }

  start(): Promise<ThreadReady> {
    return this.#thread.start();
  }
}
