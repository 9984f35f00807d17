import { Fifo } from '../fifo.js';
import { type Item, type Rule, WINDOW_MS, type World } from '../rule.js';
import { dealToShortest, type Replica } from './deal.js';
import { fitLine } from './fit-line.js';

const TICK_MS = 1;
const KEPT_SAMPLES = 50;
const TRAINING_BATCHES = 11;
const REFRESH_MS = 5000;
const WAIT_DECAY = 0.95;
const MAX_LATENCY_MS = 60_000;

interface Sample {
  readonly size: number;
  readonly tookMs: number;
  /** How long the newest item of the batch had waited. */
  readonly waitMs: number;
}

/**
 * BentoML's CORK dispatcher. It fits the time of a batch as a·n + b over the last 50, and holds n
 * items back while n·(wait of the newest + one tick + a) is at most 0.95 of the average wait so far.
 * It looks once per millisecond and has one batch in flight. One dispatcher per session.
 *
 * As it comes: an unlimited queue; what is predicted to take over 60 s is refused. Left out: during
 * training (here: the first 11 batches, which take up to three items) the short waits for a second
 * and third item.
 */
class CorkDispatcher implements Replica {
  readonly #world: World;
  readonly #session: number;
  readonly #queue = new Fifo<Item>();
  readonly #samples = new Fifo<Sample>();
  #batches = 0;
  #refreshedAt = 0;
  #slope = 0;
  #base = 0;
  #averageWaitMs = WINDOW_MS;
  #isTicking = false;
  size = 0;

  constructor(world: World, session: number) {
    this.#world = world;
    this.#session = session;
  }

  arrive(item: Item): void {
    this.size++;
    this.#queue.push(item);
    if (!this.#isTicking) this.#tick();
  }

  #tick(): void {
    this.#isTicking = this.#queue.length > 0;
    if (!this.#isTicking) return;
    this.#dropHopeless();
    if (this.#queue.length > 0 && this.#world.isIdle(this.#session) && !this.#isWorthWaiting()) {
      this.#run();
    }
    this.#world.clock.after(TICK_MS, () => {
      this.#tick();
    });
  }

  #dropHopeless(): void {
    const { now } = this.#world.clock;
    for (;;) {
      const count = this.#queue.length;
      const oldest = this.#queue.at(0);
      if (oldest === undefined || count < 2) return;
      if (now - oldest.arrivedAt + this.#slope * count + this.#base < MAX_LATENCY_MS) return;
      this.size--;
      this.#world.drop(this.#queue.shift() as Item);
    }
  }

  #isWorthWaiting(): boolean {
    const count = this.#queue.length;
    if (this.#batches < TRAINING_BATCHES || count >= this.#world.profile.maxBatch) return false;
    const newest = this.#queue.at(count - 1) as Item;
    const newestWaitMs = this.#world.clock.now - newest.arrivedAt;
    return count * (newestWaitMs + TICK_MS + this.#slope) <= this.#averageWaitMs * WAIT_DECAY;
  }

  #run(): void {
    const { clock, profile } = this.#world;
    const most =
      this.#batches < TRAINING_BATCHES ? Math.min(3, profile.maxBatch) : profile.maxBatch;
    const batch = this.#queue.take(most);
    const waitMs = clock.now - (batch.at(-1) as Item).arrivedAt;
    this.#batches++;
    this.#world.run(this.#session, batch, (tookMs) => {
      this.size -= batch.length;
      this.#learn({ size: batch.length, tookMs, waitMs });
    });
  }

  #learn(sample: Sample): void {
    const { now } = this.#world.clock;
    this.#samples.push(sample);
    if (this.#samples.length > KEPT_SAMPLES) this.#samples.shift();
    const isTraining = this.#batches <= TRAINING_BATCHES;
    if (!isTraining && now - this.#refreshedAt < REFRESH_MS) return;
    this.#refreshedAt = now;
    const samples = [...this.#samples];
    const line = fitLine(samples.map(({ size, tookMs }) => [size, tookMs]));
    this.#slope = Math.max(0.001, line.slope);
    this.#base = Math.max(0, line.base);
    this.#averageWaitMs = samples.reduce((sum, { waitMs }) => sum + waitMs, 0) / samples.length;
  }
}

export const BENTOML: Rule = {
  name: 'BentoML',
  create(world) {
    const { sessions } = world.profile;
    return dealToShortest(
      Array.from({ length: sessions }, (_, session) => new CorkDispatcher(world, session)),
    );
  },
};
