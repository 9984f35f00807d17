import { ShoalError } from '../errors.js';
import type { EngineEvents } from './engine-link.js';
import { type EngineAnswer, type EngineRequest, ItemBook, type Pending } from './item-book.js';
import type { ItemMeta, ItemOutcome, Pong, RanBatch, Ready, Results } from './messages.js';
import { quarantined } from './quarantine.js';
import { afterCrash, NO_CRASHES, type RestartState } from './restart-policy.js';

/** The part of an engine process that its supervisor uses. */
export interface Link {
  sendItem(meta: ItemMeta, image: readonly Uint8Array[]): void;
  sendCancel(id: number): void;
  sendPing(): void;
  kill(reason?: string): void;
}

export interface SupervisorHost {
  spawn(events: EngineEvents): Link;
  onBatch(batch: RanBatch): void;
  onDropped(outcome: Extract<ItemOutcome, { dropped: unknown }>): void;
  /** It was computed, but nobody waits for it any more. */
  onWasted(outcome: Extract<ItemOutcome, { detections: unknown }>, batch: RanBatch): void;
  /** An engine died of this image. True when it is not to be tried again. */
  onKiller(request: EngineRequest, kills: number): boolean;
  onRestart(reason: string, delayMs: number): void;
  onBackUp(loadMs: number): void;
  /** Larger batches than this do not fit into memory. */
  onCeiling(batch: number): void;
}

const PING_MS = 1000;

/**
 * Keeps one engine alive and gives it items, which wait while it restarts. Every submitted item is
 * settled exactly once.
 */
export class EngineSupervisor {
  readonly #host: SupervisorHost;
  readonly #hangTimeoutMs: number;
  readonly #book = new ItemBook();
  #link: Link | undefined;
  /** An engine that takes over as soon as it is ready and the other one is empty. */
  #successor: { link: Link; ready: Ready | undefined } | undefined;
  #stuck: readonly number[] = [];
  #isStarved = false;
  #mustRecycle = false;
  #isReady = false;
  #isStopped = false;
  #ready: Ready | undefined;
  #readyAt = 0;
  #lastPongAt = 0;
  #restart: RestartState = NO_CRASHES;
  #settleStart: { resolve(ready: Ready): void; reject(error: Error): void } | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** What the engine last said about itself. */
  vitals: Pong = { rssBytes: 0, drift: 1 };
  restarts = 0;

  constructor(host: SupervisorHost, hangTimeoutMs: number) {
    this.#host = host;
    this.#hangTimeoutMs = hangTimeoutMs;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  get provider(): string | undefined {
    return this.#ready?.provider;
  }

  /** Resolves when the engine serves. A model that cannot be loaded the first time rejects. */
  start(): Promise<Ready> {
    return new Promise((resolve, reject) => {
      this.#settleStart = { resolve, reject };
      this.#spawn();
    });
  }

  /** Ends the engine; unsettled items are rejected. */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#link?.kill();
    this.#successor?.link.kill();
    for (const pending of this.#book.pending) this.#reject(pending, 'The server is stopping.');
  }

  submit(request: EngineRequest): Promise<EngineAnswer> {
    return new Promise((resolve, reject) => {
      const pending = this.#book.add(request, { resolve, reject });
      request.cancellation.listen((reason) => {
        this.#abandon(pending, reason);
      });
      this.#dispatch();
    });
  }

  /** Starts another engine beside this one and lets it take over; nobody waits meanwhile. */
  recycle(): void {
    if (!this.#isReady || this.#successor !== undefined) {
      // One that is loading has the old settings, so another must follow it.
      this.#mustRecycle = true;
      return;
    }
    this.#mustRecycle = false;
    const successor: { link: Link; ready: Ready | undefined } = {
      link: this.#host.spawn({
        ...this.#events(),
        onReady: (ready) => {
          successor.ready = ready;
          this.#handOver();
        },
        onEnd: (reason) => {
          // Until it has taken over it is nobody's loss; afterwards it is the engine.
          if (this.#successor === successor) this.#successor = undefined;
          else if (this.#link === successor.link) this.#handleEnd(reason);
        },
      }),
      ready: undefined,
    };
    this.#successor = successor;
  }

  #handOver(): void {
    if (this.#successor?.ready === undefined || !this.#book.isEngineEmpty) return;
    const { link, ready } = this.#successor;
    this.#successor = undefined;
    clearInterval(this.#timer);
    const old = this.#link;
    this.#link = link;
    old?.kill();
    this.#handleReady(ready);
  }

  #spawn(): void {
    this.#lastPongAt = performance.now();
    try {
      const link = this.#host.spawn({
        ...this.#events(),
        onEnd: (reason) => {
          // One that was replaced has nothing to say any more.
          if (this.#link === link) this.#handleEnd(reason);
        },
      });
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
        this.#handleResults(results);
      },
      onPong: (pong) => {
        this.#lastPongAt = performance.now();
        this.vitals = pong;
      },
      onStuck: ({ ids }) => {
        this.#stuck = ids;
      },
    };
  }

  #handleReady(ready: Ready): void {
    this.#isReady = true;
    this.#ready = ready;
    if (ready.ceiling !== undefined) this.#host.onCeiling(ready.ceiling);
    this.#readyAt = performance.now();
    this.#lastPongAt = this.#readyAt;
    this.#timer = setInterval(
      () => {
        this.#checkAlive();
      },
      Math.min(PING_MS, this.#hangTimeoutMs / 4),
    );
    this.#timer.unref();
    this.#link?.sendPing();
    if (this.#settleStart === undefined) this.#host.onBackUp(ready.loadMs);
    this.#settleStart?.resolve(ready);
    this.#settleStart = undefined;
    this.#dispatch();
    if (this.#mustRecycle) this.recycle();
  }

  /** A stopped or stuck main thread does not answer; a stuck lane is the engine's own watch. */
  #checkAlive(): void {
    if (performance.now() - this.#lastPongAt > this.#hangTimeoutMs) {
      this.#isStarved = true;
      this.#link?.kill('it did not answer in time and was killed');
    } else {
      this.#link?.sendPing();
    }
  }

  #handleEnd(reason: string): void {
    clearInterval(this.#timer);
    const ranForMs = this.#isReady ? performance.now() - this.#readyAt : 0;
    this.#isReady = false;
    this.#link = undefined;
    this.vitals = { rssBytes: 0, drift: 1 };
    if (this.#isStopped) return;
    if (this.#settleStart !== undefined) {
      this.#settleStart.reject(new Error(reason));
      this.#settleStart = undefined;
      return;
    }
    // A successor would serve, but its own end is not watched yet: one way back is enough.
    this.#successor?.link.kill();
    this.#successor = undefined;
    this.#judge();
    const { state, delayMs } = afterCrash(this.#restart, ranForMs);
    this.#restart = state;
    this.restarts++;
    this.#host.onRestart(reason, delayMs);
    this.#timer = setTimeout(() => {
      this.#spawn();
    }, delayMs);
  }

  /** Who was it? Images that have done it before are not tried a third time. */
  #judge(): void {
    const accused = this.#book.crashed(this.#stuck);
    // An engine that does not answer may be stopped or starved, which is no image's fault.
    const proven = this.#isStarved ? [] : accused;
    this.#stuck = [];
    this.#isStarved = false;
    for (const { pending, kills } of proven) {
      const isQuarantined = this.#host.onKiller(pending.request, kills);
      const reason = isQuarantined ? quarantined() : kills > 1 ? failedTwice() : undefined;
      if (reason !== undefined && this.#book.forget(pending)) pending.reject(reason);
    }
  }

  #dispatch(): void {
    // With a successor ready, nothing more goes in here: it takes over as soon as this is empty.
    if (!this.#isReady || this.#successor?.ready !== undefined) return;
    for (const { id, request } of this.#book.takeSendable()) {
      const { threshold, info: image, deadline, isBackground, rank } = request;
      const timeLeftMs = deadline - performance.now();
      const meta = { id, threshold, image, timeLeftMs, isBackground, rank };
      this.#link?.sendItem(meta, request.image);
    }
  }

  #handleResults({ batch, items }: Results): void {
    if (batch !== undefined) this.#host.onBatch(batch);
    if (batch?.ceiling !== undefined) this.#host.onCeiling(batch.ceiling);
    for (const outcome of items) {
      const pending = this.#book.reported(outcome.id);
      if ('dropped' in outcome) this.#host.onDropped(outcome);
      if ('error' in outcome) {
        pending?.reject(new ShoalError(outcome.error.code, outcome.error.detail));
      } else if ('dropped' in outcome) {
        pending?.reject(new ShoalError('deadline_exceeded', EXPIRED));
      } else if (batch !== undefined) {
        if (pending === undefined) this.#host.onWasted(outcome, batch);
        pending?.resolve({ ...outcome, batch });
      }
    }
    this.#handOver();
    this.#dispatch();
  }

  /** The caller has its reason already; what matters is that no more work is done. */
  #abandon(pending: Pending, reason: Error): void {
    if (!this.#book.forget(pending)) return;
    if (this.#book.isInside(pending)) this.#link?.sendCancel(pending.id);
    pending.reject(reason);
    this.#dispatch();
  }

  #reject(pending: Pending, detail: string): void {
    this.#book.forget(pending);
    pending.reject(new ShoalError('engine_unavailable', detail, { retryAfterSeconds: 1 }));
  }
}

const EXPIRED = 'The image waited in the queue until its deadline and was not computed.';

function failedTwice(): ShoalError {
  return new ShoalError('model_failed', 'The engine failed twice while it worked on this image.');
}
