import { ShoalError } from '../errors.js';
import type { EngineEvents } from './engine-link.js';
import { EngineSeat, LOADS_SOON_MS } from './engine-seat.js';
import { type EngineAnswer, type EngineRequest, ItemBook, type Pending } from './item-book.js';
import type { ItemOutcome, Pong, RanBatch, Ready, Results } from './messages.js';
import { quarantined } from './quarantine.js';
import type { Crash, Link } from './seat-host.js';

export interface SupervisorHost {
  /**
   * @param seat which of the engines, from 0
   * @param isUrgent somebody waits for it: what can be done later should be
   */
  spawn(events: EngineEvents, seat: number, isUrgent: boolean): Link;
  onBatch(batch: RanBatch): void;
  onDropped(outcome: Extract<ItemOutcome, { dropped: unknown }>): void;
  /** It was computed, but nobody waits for it any more. */
  onWasted(outcome: Extract<ItemOutcome, { detections: unknown }>, batch: RanBatch): void;
  /** An engine died of this image. True when it is not to be tried again. */
  onKiller(request: EngineRequest, kills: number): boolean;
  onRestart(reason: string, delayMs: number): void;
  /** @param hasTakenOver from one that served until now; otherwise there was none for a while */
  onBackUp(loadMs: number, hasTakenOver: boolean): void;
  /** Larger batches than this do not fit into memory. */
  onCeiling(batch: number): void;
}

/**
 * Keeps the engines of a model alive, one for each of its devices, and gives them items from one
 * queue. Items wait while no engine is there. Every submitted item is settled exactly once.
 */
export class EngineSupervisor {
  readonly #host: SupervisorHost;
  readonly #hangTimeoutMs: number;
  readonly #book = new ItemBook();
  #seats: readonly EngineSeat[] = [];
  #avoided: readonly number[] = [];

  constructor(host: SupervisorHost, hangTimeoutMs: number) {
    this.#host = host;
    this.#hangTimeoutMs = hangTimeoutMs;
  }

  get seats(): readonly EngineSeat[] {
    return this.#seats;
  }

  /** Whether any engine serves. */
  get isReady(): boolean {
    return this.#seats.some((seat) => seat.isReady);
  }

  get provider(): string | undefined {
    return this.#seats.find(({ ready }) => ready !== undefined)?.ready?.provider;
  }

  /** Larger batches than this do not fit into memory. */
  get ceiling(): number {
    return Math.min(Infinity, ...this.#seats.map((seat) => seat.ceiling));
  }

  get restarts(): number {
    return this.#seats.reduce((sum, seat) => sum + seat.restarts, 0);
  }

  /** Of all engines together. */
  get vitals(): Pong {
    const all = this.#seats.filter(({ isReady }) => isReady).map(({ vitals }) => vitals);
    const rssBytes = all.reduce((sum, vitals) => sum + vitals.rssBytes, 0);
    const drift = all.reduce((sum, vitals) => sum + vitals.drift, 0) / all.length;
    return { rssBytes, drift: all.length === 0 ? 1 : drift };
  }

  /**
   * Resolves when all engines serve. A model that cannot be loaded the first time rejects.
   * @param engines how many
   */
  async start(engines = 1): Promise<Ready> {
    this.#seats = Array.from({ length: engines }, (_, index) => this.#createSeat(index));
    const [first] = await Promise.all(this.#seats.map((seat) => seat.start()));
    if (first === undefined) throw new Error('there is no engine to start');
    return first;
  }

  #createSeat(index: number): EngineSeat {
    const seat: EngineSeat = new EngineSeat(
      {
        spawn: (events, isUrgent) => this.#host.spawn(events, index, isUrgent),
        onReady: () => {
          this.#dispatch();
        },
        onCeiling: (batch) => {
          this.#host.onCeiling(batch);
        },
        onResults: (results) => {
          this.#handleResults(seat, results);
        },
        onCrash: (crash) => {
          this.#judge(seat, crash);
          this.#host.onRestart(crash.reason, crash.delayMs);
          this.#dispatch();
          // Whoever waits for this one goes to another when it takes too long.
          setTimeout(() => {
            this.#dispatch();
          }, crash.delayMs + LOADS_SOON_MS).unref();
        },
        onBackUp: (loadMs, hasTakenOver) => {
          this.#host.onBackUp(loadMs, hasTakenOver);
        },
      },
      this.#hangTimeoutMs,
    );
    return seat;
  }

  /** Ends all engines; unsettled items are rejected. */
  stop(): void {
    for (const seat of this.#seats) seat.stop();
    for (const pending of this.#book.pending) {
      this.#book.forget(pending);
      const reason = 'The server is stopping.';
      pending.reject(new ShoalError('engine_unavailable', reason, { retryAfterSeconds: 1 }));
    }
  }

  submit(request: EngineRequest): Promise<EngineAnswer> {
    return new Promise((resolve, reject) => {
      const pending = this.#book.add(request, { resolve, reject });
      this.#watch(pending);
      this.#dispatch();
    });
  }

  /** Gives an item to this engine and to no other; if it crashes, the item is lost. */
  submitTo(seat: EngineSeat, request: EngineRequest): Promise<EngineAnswer> {
    return new Promise((resolve, reject) => {
      const pending = this.#book.add(request, { resolve, reject }, true);
      this.#book.put(pending, seat.place);
      this.#send(seat, pending);
      this.#watch(pending);
    });
  }

  #watch(pending: Pending): void {
    pending.request.cancellation.listen((reason) => {
      this.#abandon(pending, reason);
    });
  }

  /** Engines that get nothing as long as there is another; by their seats. */
  avoid(seats: readonly number[]): void {
    this.#avoided = seats;
  }

  /** Others take the place of all engines. */
  recycle(): void {
    for (const seat of this.#seats) seat.recycle();
  }

  /** Who was it? Images that have done it before are not tried a third time. */
  #judge(seat: EngineSeat, { stuck, wasKilled }: Crash): void {
    const { killers, canaries } = this.#book.crashed(seat.place, stuck);
    for (const canary of canaries) if (this.#book.forget(canary)) canary.reject(CRASHED);
    for (const { pending, kills } of wasKilled ? [] : killers) {
      const isQuarantined = this.#host.onKiller(pending.request, kills);
      const reason = isQuarantined ? quarantined() : kills > 1 ? failedTwice() : undefined;
      if (reason !== undefined && this.#book.forget(pending)) pending.reject(reason);
    }
  }

  /**
   * Everything goes to the engine that has least to do. While there are suspects, one engine is
   * theirs: it takes nothing else, and tries them one by one as soon as it is empty.
   */
  #dispatch(): void {
    const reserved = this.#book.hasSuspects
      ? quietest(this.#seats.filter(({ isSoonOpen }) => isSoonOpen))
      : undefined;
    if (reserved?.isOpen === true && reserved.place.isEmpty) {
      const suspect = this.#book.moveSuspect(reserved.place);
      if (suspect !== undefined) this.#send(reserved, suspect);
    }
    if (!this.#book.hasFresh) return;
    const open = this.#seats.filter(
      (seat) => seat !== reserved && seat.isOpen && !seat.place.isTrying,
    );
    const welcome = open.filter((seat) => !this.#avoided.includes(this.#seats.indexOf(seat)));
    for (;;) {
      const seat = quietest(welcome.length > 0 ? welcome : open);
      const next = seat === undefined ? undefined : this.#book.moveFresh(seat.place);
      if (seat === undefined || next === undefined) return;
      this.#send(seat, next);
    }
  }

  #send(seat: EngineSeat, pending: Pending): void {
    const { id, request } = pending;
    const { threshold, info: image, deadline, isBackground, rank } = request;
    const timeLeftMs = deadline - performance.now();
    seat.send({ id, threshold, image, timeLeftMs, isBackground, rank }, request.image);
  }

  #handleResults(seat: EngineSeat, { batch, items }: Results): void {
    if (batch === undefined && items.some((outcome) => 'detections' in outcome)) {
      throw new Error('results without a batch');
    }
    if (batch !== undefined) this.#host.onBatch(batch);
    for (const outcome of items) {
      const pending = this.#book.reported(seat.place, outcome.id);
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
    seat.settled();
    this.#dispatch();
  }

  /** The caller has its reason already; what matters is that no more work is done. */
  #abandon(pending: Pending, reason: Error): void {
    if (!this.#book.forget(pending)) return;
    const seat = this.#seats.find(({ place }) => place === pending.place);
    if (seat?.place.has(pending) === true) seat.cancel(pending.id);
    pending.reject(reason);
    this.#dispatch();
  }
}

const EXPIRED = 'The image waited in the queue until its deadline and was not computed.';
const CRASHED = new ShoalError('engine_unavailable', 'The engine ended.');

/** The one with the least inside. */
function quietest(seats: readonly EngineSeat[]): EngineSeat | undefined {
  let best = seats[0];
  for (const seat of seats)
    if (best !== undefined && seat.place.size < best.place.size) best = seat;
  return best;
}

function failedTwice(): ShoalError {
  return new ShoalError('model_failed', 'The engine failed twice while it worked on this image.');
}
