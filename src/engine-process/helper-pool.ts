import type { Transferable } from 'node:worker_threads';
import type { FinishTask, HelperAnswer, HelperTask, PackTask } from './pipeline-messages.js';
import type { Thread } from './worker-thread.js';

export type HelperThread = Thread<HelperTask, HelperAnswer>;
type Answered<Kind> = Extract<HelperAnswer, { kind: Kind }>;

interface Waiting {
  readonly task: HelperTask;
  readonly transfer: readonly Transferable[];
  readonly onAnswer: (answer: HelperAnswer) => void;
}

/**
 * The threads that do everything around a session. Whatever is closest to an answer comes first:
 * outputs to finish, then batches to pack; pictures are decoded by those that have neither.
 */
export class HelperPool {
  readonly #threads: readonly HelperThread[];
  readonly #finishing: Waiting[] = [];
  readonly #packing: Waiting[] = [];

  /** @param threads the first ones are asked first */
  constructor(threads: readonly HelperThread[]) {
    this.#threads = threads;
  }

  pack(task: PackTask, onPacked: (answer: Answered<'packed'>) => void): void {
    const onAnswer = expecting('packed', onPacked);
    this.#packing.push({ task, transfer: [task.pixels], onAnswer });
    this.#pump();
  }

  finish(
    task: FinishTask,
    transfer: readonly Transferable[],
    onFinished: (answer: Answered<'finished'>) => void,
  ): void {
    this.#finishing.push({ task, transfer, onAnswer: expecting('finished', onFinished) });
    this.#pump();
  }

  /** Gives `thread` this task. When it is idle afterwards, more urgent ones come first. */
  post(thread: HelperThread, { task, transfer, onAnswer }: Waiting): void {
    thread.post(task, transfer, (answer) => {
      this.#pump();
      onAnswer(answer);
    });
  }

  #pump(): void {
    while (this.#finishing.length + this.#packing.length > 0) {
      const thread = this.#threads.find(({ isIdle }) => isIdle);
      if (thread === undefined) return;
      const next = this.#finishing.shift() ?? this.#packing.shift();
      if (next !== undefined) this.post(thread, next);
    }
  }
}

/** A thread that answers something else is out of step, and so is everything it holds. */
export function expecting<Kind extends HelperAnswer['kind']>(
  kind: Kind,
  onAnswer: (answer: Answered<Kind>) => void,
): (answer: HelperAnswer) => void {
  return (answer) => {
    if (answer.kind !== kind) throw new Error(`a helper answered ${answer.kind}, not ${kind}`);
    onAnswer(answer as Answered<Kind>);
  };
}
