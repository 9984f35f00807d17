/** Attempts at one host at a time. */
const MAX_ACTIVE = 4;
const SHORTEST_MS = 200;
const LONGEST_MS = 300_000;
/** Until the first attempt has shown how long they take. */
const FIRST_GUESS_MS = 1000;
/** How much the last attempt counts. */
const FRESHNESS = 0.3;

interface Host {
  active: number;
  typicalMs: number;
  /** When the last one that was sent away should find a place. */
  bookedUntil: number;
}

export type Entry =
  | { readonly isAdmitted: true; leave(): void }
  /** Come back after this time: that is when there should be a place. */
  | { readonly isAdmitted: false; readonly delayMs: number };

/** Keeps one receiver that is slow or dead from holding all slots. */
export class HostLimit {
  readonly #hosts = new Map<string, Host>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Hosts that are remembered. */
  get size(): number {
    return this.#hosts.size;
  }

  enter(name: string): Entry {
    const now = this.#now();
    const host = this.#hosts.get(name) ?? {
      active: 0,
      typicalMs: FIRST_GUESS_MS,
      bookedUntil: now,
    };
    this.#hosts.set(name, host);
    if (host.active < MAX_ACTIVE) {
      host.active++;
      return {
        isAdmitted: true,
        leave: () => {
          this.#leave(name, host, now);
        },
      };
    }
    // Each is told a later time: if all came back at once, most would come in vain.
    const turn = Math.max(host.bookedUntil, now) + host.typicalMs / MAX_ACTIVE;
    const delayMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, turn - now));
    host.bookedUntil = Math.min(turn, now + LONGEST_MS);
    return { isAdmitted: false, delayMs: Math.ceil(delayMs) };
  }

  #leave(name: string, host: Host, since: number): void {
    const tookMs = this.#now() - since;
    host.typicalMs += (tookMs - host.typicalMs) * FRESHNESS;
    host.active--;
    if (host.active === 0) this.#hosts.delete(name);
  }
}
