import { type Transferable, Worker } from 'node:worker_threads';
import type { Placement } from '../engine/messages.js';

/** The first message of every thread, unless it cannot start. */
export interface ThreadReady {
  readonly kind: 'ready';
  /** What its session runs on, if it has one. */
  readonly provider: string;
  /** Which of its nodes run there, when that was asked for. */
  readonly placement?: Placement;
  /** The largest batch that fits into memory, when not all that were tried did. */
  readonly ceiling?: number;
}

/** The last message of a thread that gives up. */
export interface ThreadEnd {
  readonly kind: 'failed';
  readonly message: string;
}

/** A thread that answers its tasks in the order in which it gets them. */
export interface Thread<Task, Answer> {
  readonly isIdle: boolean;
  /** When the task that it works on began. */
  readonly busySince: number | undefined;
  post(task: Task, transfer: readonly Transferable[], onAnswer: (answer: Answer) => void): void;
}

const ENTRIES = {
  lane: './lane.js',
  session: './session-thread.js',
  helper: './helper-thread.js',
} as const;

export class WorkerThread<Task, Answer extends { readonly kind: string }> implements Thread<
  Task,
  Answer
> {
  readonly #worker: Worker;
  readonly #waiting: ((answer: Answer) => void)[] = [];
  #onReady: ((ready: ThreadReady) => void) | undefined;
  busySince: number | undefined;

  /**
   * @param name what it does: newer versions of Node show it to the system, for `top -H` and the like
   * @param onDeath the thread is gone or gives up; nothing it held can be trusted any more
   */
  constructor(name: keyof typeof ENTRIES, workerData: unknown, onDeath: (reason: string) => void) {
    this.#worker = new Worker(new URL(ENTRIES[name], import.meta.url), { name, workerData });
    this.#worker.on('message', (message: Answer | ThreadReady | ThreadEnd) => {
      if (isEnd(message)) onDeath(message.message);
      else if (isReady(message)) this.#onReady?.(message);
      else this.#answered(message);
    });
    this.#worker.on('error', (error) => {
      onDeath(error instanceof Error ? error.message : String(error));
    });
    this.#worker.on('exit', (code) => {
      onDeath(`a lane ended with code ${String(code)}`);
    });
  }

  /** Call it at once. A thread that cannot start dies instead. */
  start(): Promise<ThreadReady> {
    return new Promise((resolve) => {
      this.#onReady = resolve;
    });
  }

  get isIdle(): boolean {
    return this.#waiting.length === 0;
  }

  post(task: Task, transfer: readonly Transferable[], onAnswer: (answer: Answer) => void): void {
    this.#waiting.push(onAnswer);
    this.busySince ??= performance.now();
    this.#worker.postMessage(task, transfer);
  }

  #answered(answer: Answer): void {
    const onAnswer = this.#waiting.shift();
    this.busySince = this.#waiting.length > 0 ? performance.now() : undefined;
    onAnswer?.(answer);
  }
}

function isEnd(message: { readonly kind: string }): message is ThreadEnd {
  return message.kind === 'failed';
}

function isReady(message: { readonly kind: string }): message is ThreadReady {
  return message.kind === 'ready';
}
