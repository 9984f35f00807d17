import type { EngineConfig, ItemMeta, ItemOutcome, Results } from '../engine/messages.js';
import { visibleSize } from '../image/info.js';
import { estimateDecodeBytes } from '../image/limits.js';
import { dropReason, type Item } from './item.js';
import type { Lane, LaneAnswer, RanAnswer, RunResult } from './lane-messages.js';
import { type BatchDecision, decideBatch } from './policy.js';
import { Traffic } from './traffic.js';
import { Waitlist } from './waitlist.js';

/** What the batcher needs from the engine around it. */
export interface BatcherHost {
  readonly lanes: readonly Lane[];
  now(): number;
  /** Calls back once; returns a function that calls it off. */
  after(ms: number, callback: () => void): () => void;
  report(results: Results): void;
  /** The compressed bytes of an item are no longer needed. */
  releaseBytes(bytes: Uint8Array): void;
}

type BatcherConfig = Pick<
  EngineConfig,
  'plan' | 'curve' | 'wideCurve' | 'batching' | 'windowMs' | 'maxItems' | 'maxDecodeBytes'
>;
type RunDecision = Extract<BatchDecision, { kind: 'run' }>;

/**
 * Gives idle lanes something to do: a batch if the policy says so, otherwise a picture to decode.
 * Every item that is added is reported exactly once.
 *
 * A session that is free while nothing is decoded takes compressed items and decodes them itself.
 * That saves the way over this thread and back, and nobody is there to do it sooner.
 */
export class Batcher {
  readonly #config: BatcherConfig;
  readonly #host: BatcherHost;
  readonly #items = new Map<number, Item>();
  /** How many of them somebody waits for. A backlog behind them is no crowd. */
  #interactive = 0;
  readonly #freeSlots: number[];
  readonly #queued = new Waitlist();
  readonly #ready = new Waitlist();
  readonly #running = new Map<Lane, readonly Item[]>();
  readonly #traffic = new Traffic();
  #maxBatch: number;
  #isWideRunning = false;
  #decodingBytes = 0;
  #stopWaiting: (() => void) | undefined;

  constructor(config: BatcherConfig, host: BatcherHost) {
    this.#config = config;
    this.#host = host;
    this.#maxBatch = config.plan.maxBatch;
    this.#freeSlots = Array.from({ length: config.maxItems }, (_, slot) => slot);
  }

  /** Items that have not been reported yet. */
  get size(): number {
    return this.#items.size;
  }

  /** Time of recent batches over what the profile says. */
  get drift(): number {
    return this.#traffic.drift;
  }

  /** What a lane works on, for when it does not come back. */
  idsIn(lane: Lane): number[] {
    return (this.#running.get(lane) ?? []).map(({ meta }) => meta.id);
  }

  add(meta: ItemMeta, bytes: Uint8Array): void {
    const now = this.#host.now();
    const item: Item = {
      meta,
      bytes,
      deadline: now + meta.timeLeftMs,
      state: 'queued',
      cancelled: false,
      slot: -1,
      decodeMs: 0,
      waitingSince: now,
    };
    if (!meta.isBackground) this.#traffic.arrived(now, this.#interactive++);
    this.#items.set(meta.id, item);
    this.#queued.add(item);
    this.#assignWork();
  }

  /** Takes effect unless the item is already in a running batch. */
  cancel(id: number): void {
    const item = this.#items.get(id);
    if (item === undefined) return;
    item.cancelled = true;
    this.#assignWork();
  }

  #assignWork(): void {
    this.#stopWaiting?.();
    this.#stopWaiting = undefined;
    this.#dropUnwanted();
    // Batches come before decoding: a ready item is closer to its answer.
    while (this.#startBatch());
    // The wide session has all cores.
    if (this.#isWideRunning) return;
    for (const lane of this.#host.lanes) if (lane.isIdle && !this.#startDecode(lane)) break;
  }

  #startBatch(): boolean {
    if (this.#isWideRunning) return false;
    const { plan, batching, windowMs, curve, wideCurve } = this.#config;
    const idle = this.#host.lanes.filter((lane) => lane.isIdle && lane.hasSession);
    const source = this.#nextSource();
    const now = this.#host.now();
    const decision = decideBatch(
      {
        waiting: source.interactive.length,
        background: source.background.length,
        ...source.times(now),
        modest: source.modest,
        forecast: this.#traffic.forecast(now, windowMs),
        idleSessions: idle.length,
        arrivalsPerMs: this.#traffic.arrivalsPerMs(now),
        company: this.#traffic.company,
        drift: this.#traffic.drift,
        perItemMs: source === this.#queued ? this.#traffic.perItemMs : 0,
      },
      {
        mode: batching,
        sessions: plan.sessions,
        maxBatch: this.#maxBatch,
        windowMs,
        curve,
        ...(plan.wideThreads > 0 && wideCurve.length > 0 && { wideCurve }),
      },
    );
    if (decision.kind === 'wait') {
      for (const item of source.interactive) item.heldSince ??= now;
      this.#stopWaiting = this.#host.after(decision.forMs, () => {
        this.#stopWaiting = undefined;
        this.#assignWork();
      });
    }
    if (decision.kind !== 'run') return false;
    const lane = idle.find(({ hasWide }) => decision.session === 'narrow' || hasWide);
    const batch = this.#affordable(source, decision);
    if (lane === undefined || batch.length === 0) return false;
    this.#run(lane, batch, decision.session);
    return true;
  }

  #nextSource(): Waitlist {
    // A fixed window counts from when an item is ready, so there items are decoded first.
    if (this.#config.batching === 'fixed' || this.#ready.interactive.length > 0) return this.#ready;
    if (this.#queued.interactive.length > 0) return this.#queued;
    return this.#ready.size > 0 ? this.#ready : this.#queued;
  }

  /** As many of the next items as may be decoded, given what is being decoded elsewhere. */
  #affordable(source: Waitlist, { size, extra }: RunDecision): Item[] {
    if (source !== this.#queued) return source.take(size, extra);
    let cost = this.#decodingBytes;
    const fits = (item: Item): boolean => {
      // One picture may always be decoded, however large: it was admitted.
      const isOnly = cost === 0;
      cost += decodeCost(item);
      return isOnly || cost <= this.#config.maxDecodeBytes;
    };
    const misfit = source.interactive.slice(0, size).findIndex((item) => !fits(item));
    if (misfit >= 0) return source.take(misfit, 0);
    const tooMuch = source.background.slice(0, extra).findIndex((item) => !fits(item));
    return source.take(size, tooMuch >= 0 ? tooMuch : extra);
  }

  #run(lane: Lane, batch: readonly Item[], session: RunDecision['session']): void {
    const encoded = batch.filter(({ state }) => state === 'queued');
    const cost = encoded.reduce((sum, item) => sum + decodeCost(item), 0);
    this.#decodingBytes += cost;
    const items = batch.map(({ state, slot, bytes, meta }) => ({
      source: state === 'queued' ? { bytes, image: meta.image } : slot,
      threshold: meta.threshold,
      ...visibleSize(meta.image),
    }));
    for (const item of batch) item.state = 'running';
    const started = this.#host.now();
    this.#running.set(lane, batch);
    this.#isWideRunning = session === 'wide';
    lane.assign({ kind: 'run', session, items }, (answer) => {
      this.#decodingBytes -= cost;
      this.#running.delete(lane);
      this.#isWideRunning = false;
      for (const { bytes } of encoded) this.#host.releaseBytes(bytes);
      if (answer.kind !== 'ran') throw new Error(`a lane answered a batch with ${answer.kind}`);
      const ended = this.#host.now();
      const laneMs = ended - started;
      this.#traffic.answered(ended);
      if (answer.batchSize > 0) this.#learn(session, laneMs, answer);
      this.#finishBatch(batch, session, laneMs, answer);
    });
  }

  #learn(session: RunDecision['session'], laneMs: number, answer: RanAnswer): void {
    if (answer.ceiling !== undefined) this.#maxBatch = Math.min(this.#maxBatch, answer.ceiling);
    // Only narrow ones compare with the curve that the drift is about.
    else if (session === 'narrow') {
      const decodeMs = answer.results.reduce((sum, result) => sum + result.decodeMs, 0);
      const perItemMs = decodeMs / answer.batchSize;
      this.#traffic.ran(this.#config.curve, answer.batchSize, laneMs - decodeMs, perItemMs);
    }
  }

  #finishBatch(
    batch: readonly Item[],
    session: RunDecision['session'],
    laneMs: number,
    { batchSize: size, inferMs, postMs, results, ceiling }: RanAnswer,
  ): void {
    const items = batch.map((item, index): ItemOutcome => {
      this.#forget(item);
      const { id } = item.meta;
      const { decodeMs, result } = results[index] ?? MISSING_RESULT;
      if ('code' in result) return { id, error: result };
      const timings = { decodeMs: item.decodeMs + decodeMs, inferMs, postMs };
      return { id, detections: result, timings };
    });
    // The lane gets its next task before the results are written out.
    this.#assignWork();
    const ran = { size, session, laneMs, ...(ceiling !== undefined && { ceiling }) };
    this.#host.report(size > 0 ? { batch: ran, items } : { items });
  }

  #startDecode(lane: Lane): boolean {
    const item = this.#queued.first;
    const slot = this.#freeSlots.at(-1);
    if (item === undefined || slot === undefined) return false;
    const cost = decodeCost(item);
    if (this.#decodingBytes > 0 && this.#decodingBytes + cost > this.#config.maxDecodeBytes) {
      return false;
    }
    this.#queued.takeFirst();
    this.#freeSlots.pop();
    this.#decodingBytes += cost;
    item.state = 'decoding';
    item.slot = slot;
    const source = { bytes: item.bytes, image: item.meta.image };
    lane.assign({ kind: 'decode', source, slot }, (answer) => {
      this.#decodingBytes -= cost;
      this.#finishDecode(item, answer);
    });
    return true;
  }

  #finishDecode(item: Item, answer: LaneAnswer): void {
    if (answer.kind !== 'decoded') throw new Error(`a lane answered a picture with ${answer.kind}`);
    this.#host.releaseBytes(item.bytes);
    item.decodeMs = answer.ms;
    item.waitingSince = this.#host.now();
    item.state = 'ready';
    if (answer.error === undefined) {
      this.#ready.add(item);
    } else {
      this.#forget(item);
      this.#host.report({ items: [{ id: item.meta.id, error: answer.error }] });
    }
    this.#assignWork();
  }

  /** Cancelled and expired items leave before anything is computed for them. */
  #dropUnwanted(): void {
    const now = this.#host.now();
    const dropped = [this.#queued, this.#ready]
      .flatMap((list) => list.sweep((item) => dropReason(item, now) !== undefined))
      .map((item): ItemOutcome => {
        const stage = item.state === 'ready' ? 'decoded' : 'undecoded';
        if (stage === 'undecoded') this.#host.releaseBytes(item.bytes);
        this.#forget(item);
        return { id: item.meta.id, dropped: dropReason(item, now) ?? 'cancelled', stage };
      });
    if (dropped.length > 0) this.#host.report({ items: dropped });
  }

  #forget(item: Item): void {
    this.#items.delete(item.meta.id);
    if (!item.meta.isBackground) this.#interactive--;
    if (item.slot >= 0) this.#freeSlots.push(item.slot);
  }
}

function decodeCost({ meta }: Item): number {
  return estimateDecodeBytes(meta.image);
}

const MISSING_RESULT: RunResult = {
  decodeMs: 0,
  result: { code: 'internal_error', detail: 'The model gave no result for this image.' },
};
