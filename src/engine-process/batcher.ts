import type { EngineConfig, ItemMeta, ItemOutcome, Results } from '../engine/messages.js';
import { visibleSize } from '../image/info.js';
import { estimateDecodeBytes } from '../image/limits.js';
import { dropReason, type Item } from './item.js';
import type { LaneAnswer, LaneTask, RunResult } from './lane-messages.js';
import { decideBatch } from './policy.js';

/** A worker that takes one task at a time. */
export interface Lane {
  /** Whether it can run batches; every lane can decode. */
  readonly hasSession: boolean;
  readonly isIdle: boolean;
  assign(task: LaneTask, onAnswer: (answer: LaneAnswer) => void): void;
}

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
  'plan' | 'batching' | 'windowMs' | 'maxItems' | 'maxDecodeBytes'
>;

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
  readonly #freeSlots: number[];
  #queued: Item[] = [];
  #ready: Item[] = [];
  #decodingBytes = 0;
  #stopWaiting: (() => void) | undefined;

  constructor(config: BatcherConfig, host: BatcherHost) {
    this.#config = config;
    this.#host = host;
    this.#freeSlots = Array.from({ length: config.maxItems }, (_, slot) => slot);
  }

  /** Items that have not been reported yet. */
  get size(): number {
    return this.#items.size;
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
    this.#items.set(meta.id, item);
    this.#queued.push(item);
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
    for (const lane of this.#idleLanes()) {
      if (lane.hasSession && !this.#startBatch(lane)) break;
    }
    for (const lane of this.#idleLanes()) if (!this.#startDecode(lane)) break;
  }

  #idleLanes(): Lane[] {
    return this.#host.lanes.filter((lane) => lane.isIdle);
  }

  #startBatch(lane: Lane): boolean {
    const { plan, batching, windowMs } = this.#config;
    const now = this.#host.now();
    // A fixed window counts from when an item is ready, so there items are decoded first.
    const source = this.#ready.length > 0 || batching === 'fixed' ? this.#ready : this.#queued;
    const [oldest] = source;
    const decision = decideBatch(
      {
        ready: source.length,
        oldestReadyMs: oldest === undefined ? 0 : now - oldest.waitingSince,
        idleSessions: this.#idleLanes().filter(({ hasSession }) => hasSession).length,
      },
      { mode: batching, maxBatch: plan.maxBatch, windowMs },
    );
    if (decision.kind === 'wait') {
      this.#stopWaiting ??= this.#host.after(decision.forMs, () => {
        this.#stopWaiting = undefined;
        this.#assignWork();
      });
    }
    if (decision.kind !== 'run') return false;
    const size = this.#affordable(source, decision.size);
    if (size > 0) this.#run(lane, source.splice(0, size));
    return size > 0;
  }

  /** How many of the next items may be decoded, given what is being decoded elsewhere. */
  #affordable(source: readonly Item[], wanted: number): number {
    if (source !== this.#queued) return wanted;
    let cost = this.#decodingBytes;
    let count = 0;
    while (count < wanted) {
      cost += decodeCost(source[count] as Item);
      // One picture may always be decoded, however large: it was admitted.
      const isOnly = count === 0 && this.#decodingBytes === 0;
      if (!isOnly && cost > this.#config.maxDecodeBytes) break;
      count++;
    }
    return count;
  }

  #run(lane: Lane, batch: readonly Item[]): void {
    const encoded = batch.filter(({ state }) => state === 'queued');
    const cost = encoded.reduce((sum, item) => sum + decodeCost(item), 0);
    this.#decodingBytes += cost;
    const items = batch.map(({ state, slot, bytes, meta }) => ({
      source: state === 'queued' ? { bytes, image: meta.image } : slot,
      threshold: meta.threshold,
      ...visibleSize(meta.image),
    }));
    for (const item of batch) item.state = 'running';
    lane.assign({ kind: 'run', items }, (answer) => {
      this.#decodingBytes -= cost;
      for (const { bytes } of encoded) this.#host.releaseBytes(bytes);
      this.#finishBatch(batch, answer);
    });
  }

  #finishBatch(batch: readonly Item[], answer: LaneAnswer): void {
    if (answer.kind !== 'ran') throw new Error(`a lane answered a batch with ${answer.kind}`);
    const { batchSize, inferMs, postMs, results } = answer;
    const outcomes = batch.map((item, index): ItemOutcome => {
      this.#forget(item);
      const { id } = item.meta;
      const { decodeMs, result } = results[index] ?? MISSING_RESULT;
      if ('code' in result) return { id, error: result };
      const timings = { decodeMs: item.decodeMs + decodeMs, inferMs, postMs };
      return { id, detections: result, timings };
    });
    // The lane gets its next task before the results are written out.
    this.#assignWork();
    this.#host.report(batchSize > 0 ? { batchSize, items: outcomes } : { items: outcomes });
  }

  #startDecode(lane: Lane): boolean {
    const [item] = this.#queued;
    const slot = this.#freeSlots.at(-1);
    if (item === undefined || slot === undefined) return false;
    const cost = decodeCost(item);
    if (this.#decodingBytes > 0 && this.#decodingBytes + cost > this.#config.maxDecodeBytes) {
      return false;
    }
    this.#queued.shift();
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
      this.#ready.push(item);
    } else {
      this.#forget(item);
      this.#host.report({ items: [{ id: item.meta.id, error: answer.error }] });
    }
    this.#assignWork();
  }

  /** Cancelled and expired items leave before anything is computed for them. */
  #dropUnwanted(): void {
    const now = this.#host.now();
    const isWanted = (item: Item): boolean => dropReason(item, now) === undefined;
    const dropped: ItemOutcome[] = [];
    for (const list of [this.#queued, this.#ready]) {
      for (const item of list) {
        const reason = dropReason(item, now);
        if (reason === undefined) continue;
        const stage = item.state === 'ready' ? 'decoded' : 'undecoded';
        if (stage === 'undecoded') this.#host.releaseBytes(item.bytes);
        this.#forget(item);
        dropped.push({ id: item.meta.id, dropped: reason, stage });
      }
    }
    if (dropped.length === 0) return;
    this.#queued = this.#queued.filter(isWanted);
    this.#ready = this.#ready.filter(isWanted);
    this.#host.report({ items: dropped });
  }

  #forget(item: Item): void {
    this.#items.delete(item.meta.id);
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
