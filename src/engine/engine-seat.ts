import type { EngineEvents } from './engine-link.js';
import type { ImageSource } from './image-source.js';
import { Place } from './item-book.js';
import type { ItemMeta, Pong, RanBatch, Ready } from './messages.js';
import { Pulse } from './pulse.js';
import { afterCrash, NO_CRASHES, type RestartState } from './restart-policy.js';
import type { Link, SeatHost } from './seat-host.js';

interface Successor {
  readonly link: Link;
  ready: Ready | undefined;
}

const NO_VITALS: Pong = { rssBytes: 0, drift: 1 };
/** After this time another engine tries to take the place of a makeshift. */
const MAKESHIFT_MS = 60_000;
/** An engine that rests longer than this before its next try is not waited for, */
const SOON_MS = 2000;
/** and not one that loads for longer than this. */
export const LOADS_SOON_MS = 5000;

/** A place for one engine, which is always taken: when one ends, the next one starts. */
export class EngineSeat {
  readonly place = new Place();
  readonly #host: SeatHost;
  readonly #hangTimeoutMs: number;
  #pulse: Pulse | undefined;
  #link: Link | undefined;
  /** An engine that takes over as soon as it is ready and the other one is empty. */
  #successor: Successor | undefined;
  #stuck: readonly number[] = [];
  /** What is left to do: another engine beside this one, or in its place when that cannot be. */
  #wish: 'none' | 'beside' | 'instead' = 'none';
  #isReady = false;
  #isStopped = false;
  #ready: Ready | undefined;
  #readyAt = 0;
  #spawnedAt = 0;
  #restDelayMs = 0;
  /** Larger batches than this do not fit into its memory. */
  #ceiling = Infinity;
  #restart: RestartState = NO_CRASHES;
  #settleStart: { resolve(ready: Ready): void; reject(error: Error): void } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** What the engine last said about itself. */
  vitals: Pong = NO_VITALS;
  restarts = 0;

  constructor(host: SeatHost, hangTimeoutMs: number) {
    this.#host = host;
    this.#hangTimeoutMs = hangTimeoutMs;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Whether it takes more. Not with a successor ready, which takes over when this is empty. */
  get isOpen(): boolean {
    const isLeaving = this.#successor?.ready !== undefined || this.#wish === 'instead';
    return this.#isReady && !isLeaving;
  }

  /** Whether it is worth waiting for. */
  get isSoonOpen(): boolean {
    if (this.#isReady) return this.isOpen;
    const loadsForMs = this.#link === undefined ? 0 : performance.now() - this.#spawnedAt;
    return this.#restDelayMs <= SOON_MS && loadsForMs < LOADS_SOON_MS;
  }

  get ceiling(): number {
    return this.#ceiling;
  }

  get ready(): Ready | undefined {
    return this.#ready;
  }

  get pid(): number | undefined {
    return this.#link?.pid;
  }

  /** Resolves when the engine serves. A model that cannot be loaded the first time rejects. */
  start(): Promise<Ready> {
    return new Promise((resolve, reject) => {
      this.#settleStart = { resolve, reject };
      this.#spawn(false);
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#pulse?.stop();
    clearTimeout(this.#timer);
    clearTimeout(this.#retry);
    this.#link?.kill();
    this.#successor?.link.kill();
  }

  send(meta: ItemMeta, image: ImageSource): void {
    this.#link?.sendItem(meta, image);
  }

  cancel(id: number): void {
    this.#link?.sendCancel(id);
  }

  /** It cannot be trusted any more. What is inside is tried again by the next one. */
  kill(reason: string): void {
    this.#link?.kill(reason);
  }

  /**
   * Starts another engine beside this one and lets it take over; nobody waits meanwhile.
   * @param mustLeave this one cannot stay: if two do not fit, it goes first, as soon as it is empty
   */
  recycle(mustLeave = false): void {
    if (this.#successor !== undefined || !this.#isReady) {
      // One that is loading has the old settings, so another must follow it.
      if (this.#wish === 'none') this.#wish = 'beside';
      return;
    }
    this.#wish = 'none';
    try {
      this.#successor = this.#spawnSuccessor(mustLeave);
    } catch {
      this.#lost(mustLeave);
    }
  }

  #spawnSuccessor(mustLeave: boolean): Successor {
    const successor: Successor = {
      link: this.#host.spawn(
        {
          ...this.#events(),
          onReady: (ready) => {
            successor.ready = ready;
            this.settled();
          },
          onEnd: (reason) => {
            // Until it has taken over it is nobody's loss; afterwards it is the engine.
            if (this.#successor === successor) this.#lost(mustLeave);
            else if (this.#link === successor.link) this.#handleEnd(reason);
          },
        },
        false,
      ),
      ready: undefined,
    };
    return successor;
  }

  #lost(mustLeave: boolean): void {
    this.#successor = undefined;
    if (!mustLeave) {
      if (this.#link?.isMakeshift === true) this.#replaceLater();
      return;
    }
    this.#wish = 'instead';
    this.settled();
  }

  /** What was started in a hurry shall not stay for good. */
  #replaceLater(): void {
    const makeshift = this.#link;
    this.#retry = setTimeout(() => {
      if (this.#link === makeshift && this.#isReady) this.recycle();
    }, MAKESHIFT_MS).unref();
  }

  /** Something inside was settled: whoever waits for this one to be empty may have its turn. */
  settled(): void {
    if (!this.place.isEmpty) return;
    if (this.#successor?.ready !== undefined) {
      const { link, ready } = this.#successor;
      this.#successor = undefined;
      this.#pulse?.stop();
      const old = this.#link;
      this.#link = link;
      old?.kill();
      this.#handleReady(ready, true);
    } else if (this.#wish === 'instead') {
      this.#wish = 'none';
      this.#pulse?.stop();
      const old = this.#link;
      this.#link = undefined;
      this.#isReady = false;
      old?.kill();
      this.#spawn(true);
    }
  }

  #spawn(isUrgent: boolean): void {
    this.#restDelayMs = 0;
    this.#spawnedAt = performance.now();
    try {
      const link = this.#host.spawn(
        {
          ...this.#events(),
          onEnd: (reason) => {
            // One that was replaced has nothing to say any more.
            if (this.#link === link) this.#handleEnd(reason);
          },
        },
        isUrgent,
      );
      this.#link = link;
    } catch (error) {
      // No memory or no descriptors: an engine that ended before it began.
      setImmediate(() => {
        this.#handleEnd((error as Error).message);
      });
    }
  }

  #events(): Omit<EngineEvents, 'onEnd'> {
    return {
      onReady: (ready) => {
        this.#handleReady(ready);
      },
      onResults: (results) => {
        if (results.batch !== undefined) this.#noteMemory(results.batch);
        this.#host.onResults(results);
      },
      onPong: (pong) => {
        this.#pulse?.heard();
        this.vitals = pong;
      },
      onStuck: ({ ids }) => {
        this.#stuck = ids;
      },
    };
  }

  /** The engine tries larger batches again now and then, and one that runs is news as well. */
  #noteMemory({ size, ceiling }: RanBatch): void {
    if (ceiling !== undefined) this.#limit(Math.min(this.#ceiling, ceiling));
    else if (size > this.#ceiling) this.#limit(Infinity);
  }

  #limit(ceiling: number): void {
    if (ceiling < this.#ceiling) this.#host.onCeiling(ceiling);
    this.#ceiling = ceiling;
  }

  #handleReady(ready: Ready, hasTakenOver = false): void {
    this.#isReady = true;
    this.#ready = ready;
    // One that was started in a hurry has not tried what the others have.
    if (this.#link?.isMakeshift !== true) this.#limit(ready.ceiling ?? Infinity);
    this.#readyAt = performance.now();
    // A stopped or stuck main thread does not answer; a stuck lane is the engine's own watch.
    this.#pulse = new Pulse(this.#hangTimeoutMs, {
      ask: () => this.#link?.sendPing(),
      onSilence: () => this.#link?.kill('it did not answer in time and was killed'),
    });
    this.#pulse.start();
    this.#link?.sendPing();
    if (this.#settleStart === undefined) this.#host.onBackUp(ready.loadMs, hasTakenOver);
    this.#settleStart?.resolve(ready);
    this.#settleStart = undefined;
    this.#host.onReady(ready);
    if (this.#wish === 'beside' || this.#link?.isMakeshift === true) this.recycle();
  }

  #handleEnd(reason: string): void {
    this.#pulse?.stop();
    const hasServed = this.#isReady;
    const ranForMs = hasServed ? performance.now() - this.#readyAt : 0;
    const wasKilled = this.#link?.wasKilled === true;
    this.#isReady = false;
    this.#link = undefined;
    this.vitals = NO_VITALS;
    if (this.#isStopped) return;
    if (this.#settleStart !== undefined) {
      this.#settleStart.reject(new Error(reason));
      this.#settleStart = undefined;
      return;
    }
    // A successor would serve, but its own end is not watched yet: one way back is enough.
    this.#successor?.link.kill();
    this.#successor = undefined;
    this.#wish = 'none';
    const { state, delayMs } = afterCrash(this.#restart, ranForMs);
    this.#restart = state;
    this.#restDelayMs = delayMs;
    this.restarts++;
    const stuck = this.#stuck;
    this.#stuck = [];
    this.#timer = setTimeout(() => {
      // In a hurry only once: what does not work with half of the preparations may with all of them.
      this.#spawn(hasServed);
    }, delayMs);
    this.#host.onCrash({ reason, delayMs, stuck, wasKilled });
  }
}
