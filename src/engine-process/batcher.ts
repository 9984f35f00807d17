import type { ItemMeta, SessionKind } from '../engine/messages.js';
import { visibleSize } from '../image/info.js';
import { areOne, type BatcherConfig, LiveRules } from './batcher-config.js';
import { DecodeBudget } from './decode-budget.js';
import { EarlyCancels } from './early-cancels.js';
import { InWork } from './in-work.js';
import type { Item } from './item.js';
import type { Lane, LaneAnswer, RanAnswer } from './lane-messages.js';
import { LiveView } from './live-view.js';
import { openingsOf } from './openings.js';
import { droppedOutcome, outcomesOf, ranBatch } from './outcomes.js';
import { type BatchDecision, decideBatch } from './policy.js';
import type { Report } from './report.js';
import { Traffic } from './traffic.js';
import { Waitlist } from './waitlist.js';

/** What the batcher needs from the engine around it. */
export interface BatcherHost {
  readonly lanes: readonly Lane[];
  now(): number;
  /** Calls back once; returns a function that calls it off. */
  after(ms: number, callback: () => void): () => void;
  report(report: Report): void;
  /** The compressed bytes of an item are no longer needed. */
  releaseBytes(bytes: Uint8Array): void;
}

type RunDecision = Extract<BatchDecision, { kind: 'run' }>;

/**
 * Gives idle lanes something to do: a batch if the policy says so, otherwise a picture to decode.
 * Every item that is added is reported exactly once.
 *
 * A session that is free while nothing is decoded takes compressed items and decodes them itself.
 * That saves the way over this thread and back, and nobody is there to do it sooner. Not so in a
 * pipelined engine: there sessions take only what is decoded, and hand its slots back early.
 */
export class Batcher {
  readonly #config: BatcherConfig;
  readonly #host: BatcherHost;
  readonly #sessions: readonly Lane[];
  readonly #decoders: readonly Lane[];
  readonly #items = new Map<number, Item>();
  /** How many of them somebody waits for. A backlog behind them is no crowd. */
  #interactive = 0;
  readonly #freeSlots: number[];
  readonly #queued = new Waitlist();
  readonly #ready = new Waitlist();
  readonly #inWork = new InWork();
  readonly #traffic = new Traffic();
  readonly #budget: DecodeBudget;
  readonly #early = new EarlyCancels();
  readonly #rules: LiveRules;
  #isWideRunning = false;
  #stopWaiting: (() => void) | undefined;

  /** @param fits larger batches did not fit into memory when the lanes were warmed up */
  constructor(config: BatcherConfig, host: BatcherHost, fits = config.plan.maxBatch) {
    this.#config = config;
    this.#host = host;
    this.#sessions = host.lanes.filter(({ hasSession }) => hasSession);
    this.#decoders = host.lanes.filter(({ canDecode }) => canDecode);
    this.#rules = new LiveRules(config, fits, host.now());
    this.#budget = new DecodeBudget(config.maxDecodeBytes);
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
    return this.#inWork.idsIn(lane);
  }

  add(meta: ItemMeta, bytes: Uint8Array): void {
    const now = this.#host.now();
    const item: Item = {
      meta,
      bytes,
      deadline: now + meta.timeLeftMs,
      state: 'queued',
      cancelled: this.#early.take(meta.id),
      slot: -1,
      decodeMs: 0,
      waitingSince: now,
    };
    if (!meta.isBackground) this.#traffic.arrived(now, this.#interactive++);
    this.#items.set(meta.id, item);
    this.#queued.add(item);
    if (item.cancelled) this.#queued.recheck();
    this.#assignWork();
  }

  /** Takes effect unless the item is already in a batch. */
  cancel(id: number): void {
    const item = this.#items.get(id);
    if (item === undefined) this.#early.add(id);
    else item.cancelled = true;
    this.#queued.recheck();
    this.#ready.recheck();
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
    for (const lane of this.#decoders) if (lane.isIdle && !this.#startDecode(lane)) return;
    // All are busy. Where this thread has to wait for a core, a lane would wait for it as well.
    for (const lane of this.#decoders) if (lane.canStage && !this.#startDecode(lane)) return;
  }

  #startBatch(): boolean {
    if (this.#isWideRunning) return false;
    const source = this.#nextSource();
    if (source.size === 0) return false;
    const now = this.#host.now();
    const rules = this.#rules.at(now);
    const { idle, joinable, stageable } = openingsOf(this.#sessions, areOne(this.#config));
    const perItemMs = source === this.#queued ? this.#traffic.perItemMs : 0;
    const view = new LiveView(source, this.#traffic, {
      now,
      windowMs: rules.windowMs,
      idleSessions: idle.length,
      joinable: joinable.length,
      isDecodingLate: this.#queued.size > this.#decoders.length,
      stageable: stageable.length,
      perItemMs,
    });
    const decision = decideBatch(view, rules);
    if (decision.kind === 'wait') {
      for (const item of source.interactive) item.heldSince ??= now;
      this.#stopWaiting = this.#host.after(decision.forMs, () => {
        this.#stopWaiting = undefined;
        this.#assignWork();
      });
    }
    if (decision.kind !== 'run') return false;
    const candidates = idle.length > 0 ? idle : [...joinable, ...stageable];
    const lane = candidates.find(({ hasWide }) => decision.session === 'narrow' || hasWide);
    if (lane === undefined) return false;
    const batch = this.#take(source, decision);
    if (batch.length === 0) return false;
    this.#run(lane, batch, decision.session);
    return true;
  }

  #nextSource(): Waitlist {
    // A fixed window counts from when an item is ready, so there items are decoded first.
    const { batching, isPipelined } = this.#config;
    if (isPipelined || batching === 'fixed' || this.#ready.interactive.length > 0) {
      return this.#ready;
    }
    if (this.#queued.interactive.length > 0) return this.#queued;
    return this.#ready.size > 0 ? this.#ready : this.#queued;
  }

  #take(source: Waitlist, { size, extra }: RunDecision): Item[] {
    if (source !== this.#queued) return source.take(size, extra);
    return this.#budget.takeFrom(source, size, extra);
  }

  #run(lane: Lane, batch: readonly Item[], session: SessionKind): void {
    const encoded = batch.filter(({ state }) => state === 'queued');
    const cost = this.#budget.spend(encoded);
    const items = batch.map(({ state, slot, bytes, meta }) => ({
      source: state === 'queued' ? { bytes, image: meta.image } : slot,
      threshold: meta.threshold,
      ...visibleSize(meta.image),
    }));
    for (const item of batch) item.state = 'running';
    const started = this.#host.now();
    const isComparable = this.#isComparable(lane, session);
    this.#inWork.begin(lane, batch);
    this.#isWideRunning = session === 'wide';
    lane.assign({ kind: 'run', session, items }, (answer) => {
      if (answer.kind === 'packed') {
        for (const item of batch) this.#releaseSlot(item);
        this.#assignWork();
      } else if (answer.kind === 'freed') {
        this.#inWork.end(lane, batch);
        this.#assignWork();
      } else if (answer.kind === 'ran') {
        this.#budget.giveBack(cost);
        this.#inWork.end(lane, batch);
        this.#isWideRunning = false;
        for (const { bytes } of encoded) this.#host.releaseBytes(bytes);
        this.#finishBatch(batch, session, started, answer, isComparable);
      } else {
        throw new Error(`a lane answered a batch with ${answer.kind}`);
      }
    });
  }

  /** Whether the curve is about such a batch. It was measured with all sessions at work. */
  #isComparable(lane: Lane, session: SessionKind): boolean {
    if (session === 'wide' || !areOne(this.#config)) return session === 'narrow';
    return this.#sessions.every((one) => one === lane || !one.isIdle);
  }

  #finishBatch(
    batch: readonly Item[],
    session: SessionKind,
    started: number,
    answer: RanAnswer,
    isComparable: boolean,
  ): void {
    const now = this.#host.now();
    // While a batch was staged, or its outputs are read, its session did something else.
    const laneMs = answer.busyMs ?? now - started;
    this.#traffic.answered(now);
    if (answer.batchSize > 0) this.#learn(now, laneMs, answer, isComparable);
    for (const item of batch) this.#forget(item);
    // The lane gets its next task before the results are written out.
    this.#assignWork();
    const items = outcomesOf(batch, answer);
    this.#host.report({ ...ranBatch(session, laneMs, answer), items });
  }

  #learn(now: number, laneMs: number, answer: RanAnswer, isComparable: boolean): void {
    if (answer.ceiling !== undefined) {
      this.#rules.lower(answer.ceiling, now);
    } else if (isComparable) {
      const decodeMs = answer.results.reduce((sum, result) => sum + result.decodeMs, 0);
      const size = answer.batchSize;
      this.#traffic.ran(this.#rules.curve, size, laneMs - decodeMs, decodeMs / size);
    }
  }

  #startDecode(lane: Lane): boolean {
    const item = this.#queued.first;
    const slot = this.#freeSlots.at(-1);
    if (item === undefined || slot === undefined || !this.#budget.allows(item)) return false;
    this.#queued.takeFirst();
    this.#freeSlots.pop();
    const alone = [item];
    const cost = this.#budget.spend(alone);
    item.state = 'decoding';
    item.slot = slot;
    this.#inWork.begin(lane, alone);
    const source = { bytes: item.bytes, image: item.meta.image };
    lane.assign({ kind: 'decode', source, slot }, (answer) => {
      this.#budget.giveBack(cost);
      this.#inWork.end(lane, alone);
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
    const [undecoded, decoded] = [this.#queued.sweep(now), this.#ready.sweep(now)];
    if (undecoded.length + decoded.length === 0) return;
    for (const { bytes } of undecoded) this.#host.releaseBytes(bytes);
    const dropped = [...undecoded, ...decoded];
    for (const item of dropped) this.#forget(item);
    this.#host.report({ items: dropped.map((item) => droppedOutcome(item, now)) });
  }

  #forget(item: Item): void {
    this.#items.delete(item.meta.id);
    if (!item.meta.isBackground) this.#interactive--;
    this.#releaseSlot(item);
  }

  #releaseSlot(item: Item): void {
    if (item.slot >= 0) this.#freeSlots.push(item.slot);
    item.slot = -1;
  }
}
