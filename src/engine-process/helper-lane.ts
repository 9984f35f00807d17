import type { ImageInfo } from '../image/info.js';
import { expecting, type HelperPool, type HelperThread } from './helper-pool.js';
import type { Lane, LaneAnswer, LaneTask } from './lane-messages.js';

/** Decoded in a few milliseconds. Behind a larger one another picture would wait for too long. */
const MAX_QUICK_PIXELS = 2 ** 20;

/** One helper as the batcher sees it: it decodes when nothing more urgent is to be done. */
export class HelperLane implements Lane {
  readonly hasSession = false;
  readonly hasWide = false;
  readonly canDecode = true;
  readonly #pool: HelperPool;
  readonly #thread: HelperThread;
  /** It works on the first. */
  readonly #decoding: ImageInfo[] = [];

  constructor(pool: HelperPool, thread: HelperThread) {
    this.#pool = pool;
    this.#thread = thread;
  }

  get isIdle(): boolean {
    return this.#thread.isIdle;
  }

  get canStage(): boolean {
    const [first] = this.#decoding;
    return this.#decoding.length === 1 && first !== undefined && isQuick(first);
  }

  get busySince(): number | undefined {
    return this.#thread.busySince;
  }

  assign(task: LaneTask, onAnswer: (answer: LaneAnswer) => void): void {
    if (task.kind !== 'decode') throw new Error('a helper has no session');
    this.#decoding.push(task.source.image);
    const onDecoded = expecting('decoded', (answer) => {
      this.#decoding.shift();
      onAnswer(answer);
    });
    this.#pool.post(this.#thread, { task, transfer: [], onAnswer: onDecoded });
  }
}

function isQuick({ width, height }: ImageInfo): boolean {
  return width * height <= MAX_QUICK_PIXELS;
}
