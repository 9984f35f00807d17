import type { Transferable } from 'node:worker_threads';
import type { RunResult } from '../../src/engine-process/lane-messages.js';
import { HelperLane } from '../../src/engine-process/helper-lane.js';
import { HelperPool } from '../../src/engine-process/helper-pool.js';
import type {
  HelperAnswer,
  HelperTask,
  SessionAnswer,
  SessionTask,
} from '../../src/engine-process/pipeline-messages.js';
import { PipelinedLane } from '../../src/engine-process/pipelined-lane.js';
import { PixelPool } from '../../src/engine-process/pixel-pool.js';
import type { Thread } from '../../src/engine-process/worker-thread.js';

/** A thread that keeps its tasks until it is told to finish the first. */
export abstract class FakeThread<Task, Answer> implements Thread<Task, Answer> {
  readonly tasks: Task[] = [];
  readonly busySince = undefined;
  readonly #callbacks: ((answer: Answer) => void)[] = [];

  get isIdle(): boolean {
    return this.tasks.length === 0;
  }

  post(task: Task, transfer: readonly Transferable[], onAnswer: (answer: Answer) => void): void {
    // What is handed over is gone for the sender, as with real threads.
    this.tasks.push(structuredClone(task, { transfer: transfer as ArrayBuffer[] }));
    this.#callbacks.push(onAnswer);
  }

  finish(isFailing = false, ceiling?: number): void {
    const task = this.tasks.shift();
    if (task !== undefined) this.#callbacks.shift()?.(this.answerTo(task, isFailing, ceiling));
  }

  protected abstract answerTo(task: Task, isFailing: boolean, ceiling?: number): Answer;
}

/** A picture is a number, the width of its image, so that a mix-up shows. */
export const PICTURE_BYTES = 8;

export class FakeHelper extends FakeThread<HelperTask, HelperAnswer> {
  readonly #slots: Float64Array;

  constructor(slots: Float64Array) {
    super();
    this.#slots = slots;
  }

  protected answerTo(task: HelperTask, isFailing: boolean): HelperAnswer {
    switch (task.kind) {
      case 'decode': {
        this.#slots[task.slot] = task.source.image.width;
        const error = { code: 'invalid_image', detail: 'broken' } as const;
        return { kind: 'decoded', ms: 1, ...(isFailing && { error }) };
      }
      case 'pack': {
        const numbers = new Float64Array(task.pixels);
        task.slots.forEach((slot, place) => (numbers[place] = this.#slots[slot] as number));
        numbers.fill(0, task.slots.length, task.size);
        return { kind: 'packed', pixels: task.pixels };
      }
      case 'finish': {
        const results = task.parts.flatMap((part): RunResult['result'][] => {
          if ('error' in part) return [part.error];
          const numbers = part.outputs['number']?.data.slice(0, part.count) ?? [];
          return Array.from(numbers, (number) =>
            JSON.stringify([{ label: 'x', confidence: 1, bbox: [number, 0, 0, 0] }]),
          );
        });
        return { kind: 'finished', ms: 1, results };
      }
    }
  }
}

/** A session whose output for a picture is its number. */
export class FakeSession extends FakeThread<SessionTask, SessionAnswer> {
  protected answerTo(
    { pixels, count }: SessionTask,
    isFailing: boolean,
    ceiling?: number,
  ): SessionAnswer {
    const numbers = new Float32Array(new Float64Array(pixels, 0, count));
    const error = { code: 'model_failed', detail: 'no' } as const;
    const parts = isFailing
      ? Array.from({ length: count }, () => ({ count: 1, error }) as const)
      : [{ count, outputs: { number: { data: numbers, dims: [count] } } }];
    const ran = { kind: 'ran', pixels, ms: 5, parts } as const;
    return ceiling === undefined ? ran : { ...ran, ceiling };
  }
}

/** The lanes of a pipelined engine on threads that wait to be told. */
export function fakePipeline(
  sessions: number,
  helpers: number,
  maxBatch: number,
  maxItems: number,
  buckets: readonly number[] = [],
) {
  const slots = new Float64Array(maxItems);
  const sessionThreads = Array.from({ length: sessions }, () => new FakeSession());
  const helperThreads = Array.from({ length: helpers }, () => new FakeHelper(slots));
  const pool = new HelperPool(helperThreads);
  const pixels = new PixelPool(maxBatch * PICTURE_BYTES);
  const lanes = [
    ...sessionThreads.map((session) => new PipelinedLane(session, pool, pixels, buckets)),
    ...helperThreads.map((helper) => new HelperLane(pool, helper)),
  ];
  return { lanes, sessions: sessionThreads, helpers: helperThreads };
}
