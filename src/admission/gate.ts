import type { Cancellation } from '../cancellation.js';
import { ShoalError } from '../errors.js';
import { Bookings } from './bookings.js';
import { FairQueue } from './fair-queue.js';
import { Forecast } from './forecast.js';
import type { Tenant } from './tenant.js';
import { Turns } from './turns.js';

export interface GateLimits {
  /** Interactive items that may be in the engine at once. Background ones get what is left. */
  readonly maxConcurrent: number;
  /** Items that may wait for that. */
  readonly maxQueue: number;
  /** Bytes of all images that wait. */
  readonly maxQueueBytes: number;
  /** Interactive requests that would wait longer are refused. */
  readonly maxWaitMs: number | 'auto';
  /** Interactive requests that would be answered later are refused; 0 for no such target. */
  readonly targetMs: number;
}

/** What the gate must know about a request. */
export interface Visitor {
  /** Comes again with a request that was refused. */
  readonly id: string;
  readonly tenant: Tenant;
  readonly isBackground: boolean;
  readonly bytes: number;
  /** When the answer stops being useful, on the gate's clock. */
  readonly deadline: number;
  /** It was refused before and comes back as it was told. */
  readonly isExpected: boolean;
}

export type RefusalCode = 'queue_full' | 'too_late' | 'gpu_memory_high';

export interface Refusal {
  readonly code: RefusalCode;
  readonly detail: string;
  readonly retryAfterSeconds: number;
}

interface Waiting {
  readonly bytes: number;
  admit(): void;
}

/** When nothing is set: long enough for a burst, short enough for whoever waits. */
const AUTO_MAX_WAIT_MS = 500;
const AUTO_MAX_WAIT_BATCHES = 4;
/** With one place for every tenant there may be this many times as many in the engine. */
const GUEST_ALLOWANCE = 2;
/** Whoever was told to come back may wait this much longer than others. */
const EXPECTED_ALLOWANCE = 1.25;
/** Of what may wait, and for how long: beyond it the next burst may be too much. */
const CROWDED_SHARE = 0.5;

/**
 * A semaphore with bounded, fair queues in front of one model. When a request would be answered is
 * predicted, and one that would come too late is refused at once, with the time at which there
 * will be room for it.
 */
export class Gate {
  #limits: GateLimits;
  readonly #now: () => number;
  readonly #interactive = new FairQueue<Waiting>();
  readonly #background = new FairQueue<Waiting>();
  readonly #bookings = new Bookings();
  readonly forecast = new Forecast();
  readonly #turns = new Turns();
  readonly #inFlightOf = new WeakMap<Tenant, number>();
  readonly #waitingBytes = { interactive: 0, background: 0 };
  #inFlight = { interactive: 0, background: 0 };
  #closedFor: Refusal | undefined;
  /** Called when it is closed or opened. */
  onClosed: ((isClosed: boolean) => void) | undefined;
  /** Called when the first item comes after a time without any. */
  onBusy: (() => void) | undefined;

  constructor(limits: GateLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /** The longest predicted wait with which an interactive request is taken. */
  get maxWaitMs(): number {
    const { maxWaitMs } = this.#limits;
    if (maxWaitMs !== 'auto') return maxWaitMs;
    return Math.max(AUTO_MAX_WAIT_MS, AUTO_MAX_WAIT_BATCHES * this.forecast.serviceMs);
  }

  setLimits(limits: GateLimits): void {
    this.#limits = limits;
    this.#admitWaiting();
  }

  /**
   * Nobody is taken any more, for a reason that is not in the queue; whoever was taken before goes
   * on. Without a refusal it is open again.
   */
  close(refusal: Refusal | undefined): void {
    const hasChanged = (refusal === undefined) === this.isClosed;
    this.#closedFor = refusal;
    if (hasChanged) this.onClosed?.(this.isClosed);
  }

  get isClosed(): boolean {
    return this.#closedFor !== undefined;
  }

  get waiting(): number {
    return this.#interactive.size + this.#background.size;
  }

  get inFlight(): number {
    return this.#inFlight.interactive + this.#inFlight.background;
  }

  /** Whether a refused request is back when it was told to be. It counts once. */
  redeem(id: string): boolean {
    return this.#bookings.redeem(id, this.#now());
  }

  /** The same, without counting. */
  isExpected(id: string): boolean {
    return this.#bookings.isDue(id, this.#now());
  }

  /**
   * Whether those who come may have to be refused, so that it is worth asking before they send
   * anything. Having to wait is not enough: with enough clients somebody always does.
   */
  get isCrowded(): boolean {
    const { maxQueue, maxQueueBytes, targetMs } = this.#limits;
    const waiting = this.#interactive.size;
    if (this.isClosed) return true;
    if (waiting === 0 && this.#mayEnter(false)) return false;
    if (waiting + 1 > maxQueue * CROWDED_SHARE) return true;
    if (this.#waitingBytes.interactive > maxQueueBytes * CROWDED_SHARE) return true;
    const finishMs = this.forecast.finishMs(this.#now(), waiting + this.#inFlight.interactive);
    const mostMs = Math.min(
      this.maxWaitMs,
      targetMs > 0 ? targetMs - this.forecast.serviceMs : Number.POSITIVE_INFINITY,
    );
    return finishMs - this.forecast.serviceMs > mostMs * CROWDED_SHARE;
  }

  /** How long until the answer of a request that comes now. */
  predictMs({ tenant, isBackground }: Pick<Visitor, 'tenant' | 'isBackground'>): number {
    const queued = isBackground
      ? this.#interactive.size + this.#background.aheadOf(tenant)
      : this.#interactive.aheadOf(tenant);
    const inFlight = isBackground ? this.inFlight : this.#inFlight.interactive;
    return this.forecast.finishMs(this.#now(), queued + inFlight);
  }

  /** Throws when a request would be refused; used before its body is even read. */
  check(visitor: Visitor): void {
    const refusal = this.assess(visitor);
    if (refusal === undefined) return;
    const { code, detail, retryAfterSeconds } = refusal;
    throw new ShoalError(code, detail, { retryAfterSeconds });
  }

  /** Why a request would be refused, and when there will be room for it; or `undefined`. */
  assess(visitor: Visitor): Refusal | undefined {
    if (this.#closedFor !== undefined) return this.#closedFor;
    if (this.#hasRoom(visitor)) return undefined;
    const code = this.#isOverBounds(visitor) ? 'queue_full' : 'too_late';
    const finishMs = this.predictMs(visitor);
    if (code === 'too_late' && this.#isInTime(visitor, finishMs)) return undefined;
    const now = this.#now();
    const retryAfterSeconds = this.#bookings.book(visitor.id, now, this.forecast.ratePerMs(now));
    const detail =
      code === 'queue_full'
        ? `${String(this.inFlight)} images are in work and ${String(this.waiting)} wait; no more are taken.`
        : `The answer would take about ${(finishMs / 1000).toFixed(2)} s, which is too late; come back as Retry-After says, or allow more time.`;
    return { code, detail, retryAfterSeconds };
  }

  #isOverBounds({ tenant, bytes, isBackground }: Visitor): boolean {
    const { maxQueue, maxQueueBytes } = this.#limits;
    const kind = isBackground ? 'background' : 'interactive';
    const queue = isBackground ? this.#background : this.#interactive;
    // Each kind has its own bounds: what may wait for long must not take the place of what may not.
    if (queue.size >= maxQueue || this.#waitingBytes[kind] + bytes > maxQueueBytes) return true;
    return queue.sizeOf(tenant) >= maxQueue * tenant.queueShare;
  }

  #isInTime({ deadline, isBackground, isExpected }: Visitor, finishMs: number): boolean {
    if (this.#now() + finishMs > deadline) return false;
    if (isBackground) return true;
    const patience = isExpected ? EXPECTED_ALLOWANCE : 1;
    const { targetMs } = this.#limits;
    if (targetMs > 0 && finishMs > targetMs * patience) return false;
    return finishMs - this.forecast.serviceMs <= this.maxWaitMs * patience;
  }

  /**
   * Runs `work` when there is room for it, and tells it whose turn is before its own: lower ranks.
   * @throws when it is refused or cancelled while it waits, or what `work` throws
   */
  async run<T>(
    visitor: Visitor,
    cancellation: Cancellation,
    work: (rank: number) => Promise<T>,
  ): Promise<T> {
    this.check(visitor);
    if (this.waiting + this.inFlight === 0) this.onBusy?.();
    const kind = visitor.isBackground ? 'background' : 'interactive';
    if (this.#hasRoom(visitor)) this.#inFlight[kind]++;
    else await this.#waitForTurn(visitor, cancellation);
    const others = this.#inFlightOf.get(visitor.tenant) ?? 0;
    this.#inFlightOf.set(visitor.tenant, others + 1);
    const rank = this.#turns.next(visitor.tenant, others);
    try {
      return await work(rank);
    } finally {
      this.#turns.left(rank);
      this.#inFlight[kind]--;
      this.#inFlightOf.set(visitor.tenant, (this.#inFlightOf.get(visitor.tenant) ?? 1) - 1);
      this.forecast.completed(this.#now(), this.waiting > 0);
      this.#admitWaiting();
    }
  }

  /** Room that nobody else waits for, or a place for one whose tenant has nothing in work at all. */
  #hasRoom({ isBackground, tenant }: Visitor): boolean {
    const queue = isBackground ? this.waiting : this.#interactive.size;
    if (queue === 0 && this.#mayEnter(isBackground)) return true;
    // Otherwise it would wait for those of others that are in the engine already.
    const hasNothing = (this.#inFlightOf.get(tenant) ?? 0) + this.#interactive.sizeOf(tenant) === 0;
    const most = this.#limits.maxConcurrent * GUEST_ALLOWANCE;
    return !isBackground && hasNothing && this.#inFlight.interactive < most;
  }

  #mayEnter(isBackground: boolean): boolean {
    const inFlight = isBackground ? this.inFlight : this.#inFlight.interactive;
    return inFlight < this.#limits.maxConcurrent;
  }

  /** Resolves when its place is already taken. */
  #waitForTurn(visitor: Visitor, cancellation: Cancellation): Promise<void> {
    const { tenant, bytes, isBackground } = visitor;
    const kind = isBackground ? 'background' : 'interactive';
    const queue = isBackground ? this.#background : this.#interactive;
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        bytes,
        admit: () => {
          cancellation.listen(undefined);
          resolve();
        },
      };
      queue.push(tenant, waiting);
      this.#waitingBytes[kind] += bytes;
      cancellation.listen((reason) => {
        if (queue.remove(tenant, waiting)) this.#waitingBytes[kind] -= bytes;
        reject(reason);
      });
    });
  }

  #admitWaiting(): void {
    for (const [kind, queue] of [
      ['interactive', this.#interactive],
      ['background', this.#background],
    ] as const) {
      while (queue.size > 0 && this.#mayEnter(kind === 'background')) {
        const next = queue.shift();
        if (next === undefined) break;
        this.#inFlight[kind]++;
        this.#waitingBytes[kind] -= next.bytes;
        next.admit();
      }
    }
  }
}
