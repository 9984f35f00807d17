const BIN_MS = 100;
const MAX_SECONDS = 60;
/** Room is left for requests that come without having been told to. */
const BOOKED_SHARE = 0.9;
/** Networks and timers: a booking is good from a little before until a while after its time. */
const EARLY_MS = 300;
const LATE_MS = 2000;
const MAX_BOOKINGS = 20_000;
/** However few come back, there are not more bookings than this many times the places. */
const MAX_OVERBOOKING = 20;
/** What a tenth of a second counts when the next one is over: the last few seconds decide. */
const FADING = 0.95;

interface Bin {
  readonly ids: Set<string>;
  redeemed: number;
}

/**
 * Tells refused clients when to come back, and keeps a place for them.
 *
 * If everybody were told "in one second", everybody would come back at once and be refused again.
 * So each gets the first whole second at which there is still room, at the pace at which work
 * leaves; and whoever comes back as told, with the id of the refused request, goes before those
 * that were never refused. Most clients do not come back: places are booked as many times over as
 * experience says, so that those who ignore all this do not fill the calendar of the others.
 */
export class Bookings {
  readonly #bins = new Map<number, Bin>();
  readonly #times = new Map<string, number>();
  #firstBin = 0;
  /** Bookings whose time is over, and how many of them came; older ones count less. */
  #over = { booked: 0, redeemed: 0 };

  /** @returns whole seconds for `Retry-After` */
  book(id: string, now: number, ratePerMs: number): number {
    this.#expire(now);
    if (this.#times.size >= MAX_BOOKINGS) return MAX_SECONDS;
    this.#cancel(id);
    const perBin = ratePerMs * BIN_MS * BOOKED_SHARE * this.#overbooking;
    for (let seconds = 1; seconds <= MAX_SECONDS; seconds++) {
      const at = now + seconds * 1000;
      if (!this.#hasRoom(binOf(at), perBin)) continue;
      const bin = this.#bins.get(binOf(at)) ?? { ids: new Set(), redeemed: 0 };
      bin.ids.add(id);
      this.#bins.set(binOf(at), bin);
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
    const at = this.#times.get(id);
    if (at === undefined || !this.isDue(id, now)) return false;
    this.#times.delete(id);
    const bin = this.#bins.get(binOf(at));
    if (bin !== undefined) bin.redeemed++;
    return true;
  }

  get #overbooking(): number {
    const { booked, redeemed } = this.#over;
    return Math.min(MAX_OVERBOOKING, (booked + 1) / (redeemed + 1));
  }

  #hasRoom(bin: number, perBin: number): boolean {
    if (perBin >= 1) return (this.#bins.get(bin)?.ids.size ?? 0) + 1 <= perBin;
    // A slow model has room for one in several bins, so there must be none near it.
    const near = Math.ceil(1 / Math.max(perBin, 0.001)) - 1;
    for (let other = bin - near; other <= bin + near; other++) {
      if ((this.#bins.get(other)?.ids.size ?? 0) > 0) return false;
    }
    return true;
  }

  #cancel(id: string): void {
    const at = this.#times.get(id);
    if (at === undefined) return;
    this.#times.delete(id);
    this.#bins.get(binOf(at))?.ids.delete(id);
  }

  #expire(now: number): void {
    const end = binOf(now - LATE_MS);
    if (this.#bins.size === 0) this.#firstBin = end;
    for (; this.#firstBin < end; this.#firstBin++) {
      const bin = this.#bins.get(this.#firstBin);
      if (bin === undefined) continue;
      this.#bins.delete(this.#firstBin);
      for (const id of bin.ids) this.#times.delete(id);
      this.#over = {
        booked: this.#over.booked * FADING + bin.ids.size,
        redeemed: this.#over.redeemed * FADING + bin.redeemed,
      };
    }
  }
}

function binOf(at: number): number {
  return Math.floor(at / BIN_MS);
}
