import type { Cancellation } from '../cancellation.js';
import type { ImageInfo } from '../image/info.js';
import type { ImageSource } from './image-source.js';
import type { ItemOutcome, RanBatch } from './messages.js';

export interface EngineRequest {
  readonly image: ImageSource;
  readonly info: ImageInfo;
  readonly threshold: number;
  /** When the answer stops being useful, on `performance.now()`'s clock. */
  readonly deadline: number;
  readonly isBackground: boolean;
  /** Lower ones go first; 0 for one whose tenant has nothing else in work. */
  readonly rank: number;
  readonly cancellation: Cancellation;
}

export type EngineAnswer = Extract<ItemOutcome, { detections: unknown }> & { batch: RanBatch };

export interface Pending {
  readonly id: number;
  readonly request: EngineRequest;
  /** It was in an engine that crashed. */
  isSuspect: boolean;
  /** A known picture: it belongs to one engine and is never to blame. */
  readonly isCanary: boolean;
  /** The engine that has it. */
  place: Place | undefined;
  resolve(answer: EngineAnswer): void;
  reject(error: Error): void;
}

export interface Aftermath {
  /** Those that were alone, with what that proves: how often each has killed an engine. */
  readonly killers: readonly { readonly pending: Pending; readonly kills: number }[];
  /** They were meant for this engine, so they are not tried again. */
  readonly canaries: readonly Pending[];
}

/** What one engine has and has not reported yet, even if nobody waits for it any more. */
export class Place {
  readonly #inside = new Map<number, Pending>();
  #suspects = 0;

  get size(): number {
    return this.#inside.size;
  }

  get isEmpty(): boolean {
    return this.#inside.size === 0;
  }

  /** Something is tried here alone, to see whose fault a crash was. */
  get isTrying(): boolean {
    return this.#suspects > 0;
  }

  has({ id }: Pending): boolean {
    return this.#inside.has(id);
  }

  add(pending: Pending): void {
    this.#inside.set(pending.id, pending);
    if (pending.isSuspect) this.#suspects++;
  }

  remove(id: number): void {
    if (this.#inside.get(id)?.isSuspect === true) this.#suspects--;
    this.#inside.delete(id);
  }

  /** Takes everything out. */
  clear(): Pending[] {
    const all = [...this.#inside.values()];
    this.#inside.clear();
    this.#suspects = 0;
    return all;
  }
}

/**
 * Which items are where: in one queue for all engines of a model, or inside one of them. Those
 * that were inside an engine when it crashed are suspects and are tried once more, each alone: if
 * it crashes again, it is clear whose fault it was.
 */
export class ItemBook {
  readonly #pending = new Map<number, Pending>();
  /** Pending items that no engine has, the second kind after a crash. */
  readonly #fresh = new Set<Pending>();
  readonly #suspects = new Set<Pending>();
  #nextId = 1;

  add(
    request: EngineRequest,
    settle: Pick<Pending, 'resolve' | 'reject'>,
    isCanary = false,
  ): Pending {
    const id = this.#nextId++;
    const pending = { id, request, isSuspect: false, isCanary, place: undefined, ...settle };
    this.#pending.set(id, pending);
    if (!isCanary) this.#fresh.add(pending);
    return pending;
  }

  /** All that are not settled. */
  get pending(): Pending[] {
    return [...this.#pending.values()];
  }

  get hasSuspects(): boolean {
    return this.#suspects.size > 0;
  }

  /** The next one that no engine has, which is from now on inside `place`. */
  moveFresh(place: Place): Pending | undefined {
    return this.#move(this.#fresh, place);
  }

  /** The same for those that are tried alone. */
  moveSuspect(place: Place): Pending | undefined {
    return this.#move(this.#suspects, place);
  }

  #move(from: Set<Pending>, place: Place): Pending | undefined {
    const [pending] = from;
    if (pending !== undefined) this.put(pending, place);
    return pending;
  }

  put(pending: Pending, place: Place): void {
    this.#fresh.delete(pending);
    this.#suspects.delete(pending);
    pending.place = place;
    place.add(pending);
  }

  get hasFresh(): boolean {
    return this.#fresh.size > 0;
  }

  /** The engine has reported it. `undefined` when nobody waits for it any more. */
  reported(place: Place, id: number): Pending | undefined {
    place.remove(id);
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
   */
  crashed(place: Place, stuck: readonly number[]): Aftermath {
    const inside = place.clear();
    const accused = stuck.length > 0 ? inside.filter(({ id }) => stuck.includes(id)) : inside;
    const [only] = accused;
    const killers =
      accused.length === 1 && only?.isCanary === false
        ? [{ pending: only, kills: only.isSuspect ? 2 : 1 }]
        : [];
    for (const pending of inside) {
      pending.place = undefined;
      if (!this.#pending.has(pending.id) || pending.isCanary) continue;
      pending.isSuspect = true;
      this.#suspects.add(pending);
    }
    return { killers, canaries: inside.filter(({ isCanary }) => isCanary) };
  }
}
