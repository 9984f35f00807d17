import type { Cancellation } from '../cancellation.js';
import { ShoalError } from '../errors.js';
import type { ImageInfo } from '../image/info.js';
import type { EngineEvents } from './engine-link.js';
import type { ItemMeta, ItemOutcome, Ready, Results } from './messages.js';
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
  onBatch(size: number): void;
  onDropped(outcome: Extract<ItemOutcome, { dropped: unknown }>): void;
  onRestart(reason: string, delayMs: number): void;
  onBackUp(loadMs: number): void;
}

export interface EngineRequest {
  /** The file, in as many pieces as it arrived in. */
  readonly image: readonly Uint8Array[];
  readonly info: ImageInfo;
  readonly threshold: number;
  /** When the answer stops being useful, on `performance.now()`'s clock. */
  readonly deadline: number;
  readonly cancellation: Cancellation;
}

export type EngineAnswer = Extract<ItemOutcome, { detections: unknown }> & { batchSize: number };

interface Pending {
  readonly id: number;
  readonly request: EngineRequest;
  /** It was in an engine that crashed. */
  isSuspect: boolean;
  resolve(answer: EngineAnswer): void;
  reject(error: Error): void;
}

const PING_MS = 1000;

/**
 * Keeps one engine alive and gives it items. Items wait while it restarts; those that were inside
 * when it crashed are suspects and are tried once more, each alone: if the engine crashes again, it
 * is clear whose fault it was, and nobody else is affected. Every submitted item is settled
 * exactly once.
 */
export class EngineSupervisor {
  readonly #host: SupervisorHost;
  readonly #hangTimeoutMs: number;
  readonly #pending = new Map<number, Pending>();
  /** Pending items that no engine has, the second kind after a crash. */
  readonly #fresh = new Set<Pending>();
  readonly #suspects = new Set<Pending>();
  /** What the engine has and has not reported yet, even if nobody waits for it any more. */
  readonly #inside = new Map<number, Pending>();
  #link: Link | undefined;
  #isReady = false;
  #isStopped = false;
  #ready: Ready | undefined;
  #readyAt = 0;
  #lastPongAt = 0;
  #restart: RestartState = NO_CRASHES;
  #nextId = 1;
  #settleStart: { resolve(ready: Ready): void; reject(error: Error): void } | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The engine's resident memory when it last said so. */
  rssBytes = 0;
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
    for (const pending of [...this.#pending.values()])
      this.#reject(pending, 'The server is stopping.');
  }

  submit(request: EngineRequest): Promise<EngineAnswer> {
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      const pending = { id, request, isSuspect: false, resolve, reject };
      this.#pending.set(id, pending);
      this.#fresh.add(pending);
      request.cancellation.listen((reason) => {
        this.#abandon(pending, reason);
      });
      this.#dispatch();
    });
  }

  #spawn(): void {
    this.#lastPongAt = performance.now();
    try {
      this.#link = this.#host.spawn(this.#events());
    } catch (error) {
      // No memory or no descriptors: an engine that ended before it began.
      setImmediate(() => {
        this.#handleEnd((error as Error).message);
      });
    }
  }

  #events(): EngineEvents {
    return {
      onReady: (ready) => {
        this.#handleReady(ready);
      },
      onResults: (results) => {
        this.#handleResults(results);
      },
      onPong: ({ rssBytes }) => {
        this.#lastPongAt = performance.now();
        this.rssBytes = rssBytes;
      },
      onEnd: (reason) => {
        this.#handleEnd(reason);
      },
    };
  }

  #handleReady(ready: Ready): void {
    this.#isReady = true;
    this.#ready = ready;
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
  }

  /** A stopped or stuck main thread does not answer; a stuck lane is the engine's own watch. */
  #checkAlive(): void {
    if (performance.now() - this.#lastPongAt > this.#hangTimeoutMs) {
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
    this.rssBytes = 0;
    if (this.#isStopped) return;
    if (this.#settleStart !== undefined) {
      this.#settleStart.reject(new Error(reason));
      this.#settleStart = undefined;
      return;
    }
    this.#takeBackItems();
    const { state, delayMs } = afterCrash(this.#restart, ranForMs);
    this.#restart = state;
    this.restarts++;
    this.#host.onRestart(reason, delayMs);
    this.#timer = setTimeout(() => {
      this.#spawn();
    }, delayMs);
  }

  #takeBackItems(): void {
    for (const pending of this.#inside.values()) {
      if (!this.#pending.has(pending.id)) continue;
      if (pending.isSuspect) {
        this.#reject(pending, 'The engine failed twice while it worked on this image.');
      } else {
        pending.isSuspect = true;
        this.#suspects.add(pending);
      }
    }
    this.#inside.clear();
  }

  /** Sends what may be sent now: one suspect alone, or everything when there is none. */
  #dispatch(): void {
    if (!this.#isReady) return;
    const [suspect] = this.#suspects;
    if (suspect !== undefined) {
      if (this.#inside.size === 0) this.#send(suspect);
      return;
    }
    const [first] = this.#inside.values();
    if (first?.isSuspect === true) return;
    for (const pending of this.#fresh) this.#send(pending);
  }

  /** Wherever it waits, it does so no longer. */
  #forget(pending: Pending): boolean {
    this.#fresh.delete(pending);
    this.#suspects.delete(pending);
    return this.#pending.delete(pending.id);
  }

  #send(pending: Pending): void {
    const { id, request } = pending;
    const { threshold, info: image, deadline } = request;
    this.#fresh.delete(pending);
    this.#suspects.delete(pending);
    this.#inside.set(id, pending);
    const timeLeftMs = deadline - performance.now();
    this.#link?.sendItem({ id, threshold, image, timeLeftMs }, request.image);
  }

  #handleResults({ batchSize, items }: Results): void {
    if (batchSize !== undefined) this.#host.onBatch(batchSize);
    for (const outcome of items) {
      this.#inside.delete(outcome.id);
      if ('dropped' in outcome) this.#host.onDropped(outcome);
      const pending = this.#pending.get(outcome.id);
      // Nobody waits for it any more.
      if (pending === undefined) continue;
      this.#forget(pending);
      if ('detections' in outcome) pending.resolve({ ...outcome, batchSize: batchSize ?? 1 });
      else if ('error' in outcome) {
        pending.reject(new ShoalError(outcome.error.code, outcome.error.detail));
      } else pending.reject(new ShoalError('deadline_exceeded', EXPIRED));
    }
    this.#dispatch();
  }

  /** The caller has its reason already; what matters is that no more work is done. */
  #abandon(pending: Pending, reason: Error): void {
    if (!this.#forget(pending)) return;
    if (this.#inside.has(pending.id)) this.#link?.sendCancel(pending.id);
    pending.reject(reason);
    this.#dispatch();
  }

  #reject(pending: Pending, detail: string): void {
    this.#forget(pending);
    pending.reject(new ShoalError('engine_unavailable', detail, { retryAfterSeconds: 1 }));
  }
}

const EXPIRED = 'The image waited in the queue until its deadline and was not computed.';
