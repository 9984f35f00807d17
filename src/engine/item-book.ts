import type { Cancellation } from '../cancellation.js';
import type { ImageInfo } from '../image/info.js';
import type { ItemOutcome, RanBatch } from './messages.js';

export interface EngineRequest {
  /** The file, in as many pieces as it arrived in. */
  readonly image: readonly Uint8Array[];
  readonly info: ImageInfo;
  readonly threshold: number;
  /** When the answer stops being useful, on `performance.now()`'s clock. */
  readonly deadline: number;
  readonly isBackground: boolean;
  /** Lower ones go first: how many its tenant had in work when it came in. */
  readonly rank: number;
  readonly cancellation: Cancellation;
}

export type EngineAnswer = Extract<ItemOutcome, { detections: unknown }> & { batch: RanBatch };

export interface Pending {
  readonly id: number;
  readonly request: EngineRequest;
  /** It was in an engine that crashed. */
  isSuspect: boolean;
  resolve(answer: EngineAnswer): void;
  reject(error: Error): void;
}

/**
 * Which items are where. Those that were inside an engine when it crashed are suspects and are
 * tried once more, each alone: if it crashes again, it is clear whose fault it was.
 */
export class ItemBook {
  readonly #pending = new Map<number, Pending>();
  /** Pending items that no engine has, the second kind after a crash. */
  readonly #fresh = new Set<Pending>();
  readonly #suspects = new Set<Pending>();
  /** What the engine has and has not reported yet, even if nobody waits for it any more. */
  readonly #inside = new Map<number, Pending>();
  #nextId = 1;

  add(request: EngineRequest, settle: Pick<Pending, 'resolve' | 'reject'>): Pending {
    const pending = { id: this.#nextId++, request, isSuspect: false, ...settle };
    this.#pending.set(pending.id, pending);
    this.#fresh.add(pending);
    return pending;
  }

  /** All that are not settled. */
  get pending(): Pending[] {
    return [...this.#pending.values()];
  }

  get isEngineEmpty(): boolean {
    return this.#inside.size === 0;
  }

  isInside({ id }: Pending): boolean {
    return this.#inside.has(id);
  }

  /** What may be sent now, and is from now on inside: a suspect alone, or everything. */
  takeSendable(): Pending[] {
    const sendable = this.#sendable();
    for (const pending of sendable) {
      this.#fresh.delete(pending);
      this.#suspects.delete(pending);
      this.#inside.set(pending.id, pending);
    }
    return sendable;
  }

  #sendable(): Pending[] {
    const [suspect] = this.#suspects;
    if (suspect !== undefined) return this.isEngineEmpty ? [suspect] : [];
    const [first] = this.#inside.values();
    return first?.isSuspect === true ? [] : [...this.#fresh];
  }

  /** The engine has reported it. `undefined` when nobody waits for it any more. */
  reported(id: number): Pending | undefined {
    this.#inside.delete(id);
    const pending = this.#pending.get(id);
    if (pending !== undefined) this.forget(pending);
    return pending;
  }

  /** Wherever it waits, it does so no longer. False when it was settled already. */
  forget(pending: Pending): boolean {
    this.#fresh.delete(pending);
    this.#suspects.delete(pending);
    return this.#pending.delete(pending.id);
  }

  /**
   * The engine has crashed. Everything inside becomes a suspect.
   * @param stuck the items of the batch that did not return, when the engine could still tell
   * @returns those that were alone, with what that proves: how often each has killed an engine
   */
  crashed(stuck: readonly number[]): { pending: Pending; kills: number }[] {
    const inside = [...this.#inside.values()];
    this.#inside.clear();
    const accused = stuck.length > 0 ? inside.filter(({ id }) => stuck.includes(id)) : inside;
    const [only] = accused;
    const proof =
      accused.length === 1 && only !== undefined
        ? [{ pending: only, kills: only.isSuspect ? 2 : 1 }]
        : [];
    for (const pending of inside) {
      if (!this.#pending.has(pending.id)) continue;
      pending.isSuspect = true;
      this.#suspects.add(pending);
    }
    return proof;
  }
}
