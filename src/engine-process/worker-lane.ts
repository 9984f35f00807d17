import { Worker } from 'node:worker_threads';
import type { Lane, LaneAnswer, LaneConfig, LaneTask, ReadyAnswer } from './lane-messages.js';

/** A lane on a real worker thread. */
export class WorkerLane implements Lane {
  readonly #worker: Worker;
  readonly hasSession: boolean;
  readonly hasWide: boolean;
  #onAnswer: ((answer: LaneAnswer) => void) | undefined;
  /** When the running task began. */
  busySince: number | undefined;

  /** @param onDeath the thread is gone; nothing it held can be trusted any more */
  constructor(config: LaneConfig, onDeath: (reason: string) => void) {
    this.hasSession = config.hasSession;
    this.hasWide = config.hasWide;
    this.#worker = new Worker(new URL('./lane.js', import.meta.url), { workerData: config });
    this.#worker.on('message', (answer: LaneAnswer) => {
      const callback = this.#onAnswer;
      this.#onAnswer = undefined;
      this.busySince = undefined;
      callback?.(answer);
    });
    this.#worker.on('error', (error) => {
      onDeath(error instanceof Error ? error.message : String(error));
    });
    this.#worker.on('exit', (code) => {
      onDeath(`a lane ended with code ${String(code)}`);
    });
  }

  get isIdle(): boolean {
    return this.#onAnswer === undefined;
  }

  assign(task: LaneTask, onAnswer: (answer: LaneAnswer) => void): void {
    this.#expect(onAnswer);
    this.#worker.postMessage(task);
  }

  /** The first message of a lane says whether it could load the model. */
  start(): Promise<ReadyAnswer> {
    return new Promise((resolve, reject) => {
      this.#expect((answer) => {
        if (answer.kind === 'ready') resolve(answer);
        else reject(new Error(answer.kind === 'failed' ? answer.message : 'a lane did not start'));
      });
    });
  }

  #expect(onAnswer: (answer: LaneAnswer) => void): void {
    this.#onAnswer = onAnswer;
    this.busySince = performance.now();
  }
}
