const BIN_MS = 100;
const BINS_PER_SECOND = 1000 / BIN_MS;
const MAX_SECONDS = 60;
/** Room is left for requests that come without having been told to. */
const BOOKED_SHARE = 0.9;
/** Networks and timers: a booking is good from a little before until a while after its time. */
const EARLY_MS = 300;
const LATE_MS = 2000;
const MAX_BOOKINGS = 20_000;

/**
 * Tells refused clients when to come back, and keeps a place for them.
 *
 * If everybody were told "in one second", everybody would come back at once and be refused again.
 * So each gets the first whole second at which there is still room, at the pace at which work
 * leaves; and whoever comes back as told, with the id of the refused request, goes before those
 * that were never refused.
 */
export class Bookings {
  readonly #bins = new Map<number, number>();
  readonly #times = new Map<string, number>();
  /** For each part of a second, before which bin there is no room: need not be looked at. */
  readonly #fullUntil: number[] = [];
  /** Earlier ones are over. */
  #firstBin = 0;

  /** @returns whole seconds for `Retry-After` */
  book(id: string, now: number, ratePerMs: number): number {
    if (this.#times.size === 0) this.#reset(now);
    this.#expire(now);
    if (this.#times.size >= MAX_BOOKINGS) return MAX_SECONDS;
    this.#cancel(id);
    const phase = binOf(now) % BINS_PER_SECOND;
    const full = this.#fullUntil[phase] ?? 0;
    const first = Math.max(1, Math.ceil((full * BIN_MS - now) / 1000));
    for (let seconds = first; seconds <= MAX_SECONDS; seconds++) {
      const at = now + seconds * 1000;
      if (!this.#hasRoom(at, ratePerMs)) continue;
      this.#fullUntil[phase] = binOf(at);
      this.#bins.set(binOf(at), (this.#bins.get(binOf(at)) ?? 0) + 1);
      this.#times.set(id, at);
      return seconds;
    }
    return MAX_SECONDS;
  }

  /** Whether this is one that was told to come now. */
  isDue(id: string, now: number): boolean {
    const at = this.#times.get(id);
    return at !== undefined && now >= at - EARLY_MS && now <= at + LATE_MS;
  }

  /** The same, and it counts once. */
  redeem(id: string, now: number): boolean {
    return this.isDue(id, now) && this.#times.delete(id);
  }

  #hasRoom(at: number, ratePerMs: number): boolean {
    const perBin = ratePerMs * BIN_MS * BOOKED_SHARE;
    if (perBin >= 1) return (this.#bins.get(binOf(at)) ?? 0) + 1 <= perBin;
    // A slow model has room for one in several bins, so there must be none near it.
    const near = Math.ceil(1 / Math.max(perBin, 0.001)) - 1;
    for (let bin = binOf(at) - near; bin <= binOf(at) + near; bin++) {
      if ((this.#bins.get(bin) ?? 0) > 0) return false;
    }
    return true;
  }

  #cancel(id: string): void {
    const at = this.#times.get(id);
    if (at === undefined) return;
    this.#times.delete(id);
    this.#bins.set(binOf(at), Math.max(0, (this.#bins.get(binOf(at)) ?? 0) - 1));
  }

  #reset(now: number): void {
    this.#bins.clear();
    this.#fullUntil.length = 0;
    this.#firstBin = binOf(now);
  }

  #expire(now: number): void {
    for (; this.#firstBin < binOf(now); this.#firstBin++) this.#bins.delete(this.#firstBin);
    // Later bookings may come before earlier ones, but not by much: the first that stays ends it.
    for (const [id, at] of this.#times) {
      if (at + LATE_MS >= now) break;
      this.#times.delete(id);
    }
  }
}

function binOf(at: number): number {
  return Math.floor(at / BIN_MS);
}
