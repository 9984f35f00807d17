import { bucketFor } from './buckets.js';
import type { HelperPool } from './helper-pool.js';
import type { Lane, LaneAnswer, LaneTask, RunItem } from './lane-messages.js';
import type { SessionAnswer, SessionTask } from './pipeline-messages.js';
import type { PixelPool } from './pixel-pool.js';
import { buffersOf } from './ran-parts.js';
import type { Thread } from './worker-thread.js';

export type SessionThread = Thread<SessionTask, SessionAnswer>;

/** One batch runs, and one more lies in the queue of the thread. */
const DEPTH = 2;

/**
 * A session whose thread does nothing but run. Helpers put its batches together and read its
 * outputs, so while there is work the device waits for none of that.
 *
 *     assign ─▶ pack (helper) ─▶ run (session) ─▶ finish (helper) ─▶ 'ran'
 *                      └▶ 'packed'        └▶ 'freed'
 */
export class PipelinedLane implements Lane {
  readonly hasSession = true;
  readonly hasWide = false;
  readonly canDecode = false;
  readonly #session: SessionThread;
  readonly #helpers: HelperPool;
  readonly #pool: PixelPool;
  readonly #buckets: readonly number[];
  /** Batches that have not left the session yet. */
  #held = 0;
  /** They are packed one after the other, so they run in the order in which they came. */
  readonly #toPack: (() => void)[] = [];

  constructor(
    session: SessionThread,
    helpers: HelperPool,
    pool: PixelPool,
    buckets: readonly number[],
  ) {
    this.#session = session;
    this.#helpers = helpers;
    this.#pool = pool;
    this.#buckets = buckets;
  }

  get isIdle(): boolean {
    return this.#held === 0;
  }

  get canStage(): boolean {
    return this.#held > 0 && this.#held < DEPTH;
  }

  get busySince(): number | undefined {
    return this.#session.busySince;
  }

  assign(task: LaneTask, onAnswer: (answer: LaneAnswer) => void): void {
    if (task.kind !== 'run') throw new Error('a session thread only runs');
    const { items } = task;
    const slots = items.map(({ source }) => slotOf(source));
    const size = bucketFor(items.length, this.#buckets);
    this.#held++;
    this.#toPack.push(() => {
      this.#helpers.pack({ kind: 'pack', slots, size, pixels: this.#pool.take() }, ({ pixels }) => {
        this.#run(pixels, items, onAnswer);
        this.#toPack.shift();
        this.#toPack[0]?.();
        onAnswer({ kind: 'packed' });
      });
    });
    if (this.#toPack.length === 1) this.#toPack[0]?.();
  }

  #run(
    pixels: ArrayBuffer,
    items: readonly RunItem[],
    onAnswer: (answer: LaneAnswer) => void,
  ): void {
    const count = items.length;
    this.#session.post({ kind: 'run', pixels, count }, [pixels], (ran) => {
      this.#pool.giveBack(ran.pixels);
      this.#held--;
      const { parts, ms: inferMs, ceiling } = ran;
      const seen = items.map(({ threshold, width, height }) => ({ threshold, width, height }));
      const transfer = buffersOf(parts);
      this.#helpers.finish({ kind: 'finish', parts, items: seen }, transfer, (finished) => {
        const { ms: postMs } = finished;
        const results = finished.results.map((result) => ({ decodeMs: 0, result }));
        const times = { inferMs, postMs, busyMs: inferMs };
        const answer = { kind: 'ran', batchSize: count, ...times, results } as const;
        onAnswer(ceiling === undefined ? answer : { ...answer, ceiling });
      });
      onAnswer({ kind: 'freed' });
    });
  }
}

function slotOf(source: RunItem['source']): number {
  if (typeof source !== 'number') throw new Error('a session thread does not decode');
  return source;
}
