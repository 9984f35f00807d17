import type { Clock } from './clock.js';
import { batchMs, type Profile } from './profile.js';

interface Running {
  /** What is left to do, in milliseconds at the speed of a device whose sessions are all busy. */
  leftMs: number;
  cancel: () => void;
  readonly startedAt: number;
  readonly done: (tookMs: number) => void;
}

/**
 * The sessions of a profile. A session has at most one batch; the wide one excludes the others.
 * Sessions that share a device slow each other down: when one starts or ends, the rest of what the
 * others do is stretched or shortened.
 */
export class Device {
  readonly #clock: Clock;
  readonly #profile: Profile;
  readonly #running = new Map<number, Running>();
  #wideIsBusy = false;
  #since = 0;

  constructor(clock: Clock, profile: Profile) {
    this.#clock = clock;
    this.#profile = profile;
  }

  get idleSessions(): number {
    return this.#wideIsBusy ? 0 : this.#profile.sessions - this.#running.size;
  }

  isIdle(session: number): boolean {
    return !this.#wideIsBusy && !this.#running.has(session);
  }

  /** The idle session with the lowest number. */
  firstIdle(): number | undefined {
    for (let session = 0; session < this.#profile.sessions; session++) {
      if (this.isIdle(session)) return session;
    }
    return undefined;
  }

  /** @param done gets how long it took */
  run(session: number, size: number, done: (tookMs: number) => void): void {
    if (!this.isIdle(session)) throw new Error(`session ${String(session)} is busy`);
    this.#progress();
    const leftMs = batchMs(this.#profile, size);
    const startedAt = this.#clock.now;
    this.#running.set(session, { leftMs, cancel: () => undefined, startedAt, done });
    if (this.#profile.aloneSpeed === 1) this.#schedule(session);
    else this.#scheduleAll();
  }

  runWide(size: number, done: (tookMs: number) => void): void {
    if (this.idleSessions < this.#profile.sessions) throw new Error('a narrow session is busy');
    const tookMs = batchMs(this.#profile, size, this.#profile.wideCurve);
    this.#wideIsBusy = true;
    this.#clock.after(tookMs, () => {
      this.#wideIsBusy = false;
      done(tookMs);
    });
  }

  /** Books what has been done since the number of busy sessions last changed. */
  #progress(): void {
    const doneMs = (this.#clock.now - this.#since) * this.#speed();
    this.#since = this.#clock.now;
    for (const batch of this.#running.values()) batch.leftMs -= doneMs;
  }

  #speed(): number {
    return this.#running.size === 1 ? this.#profile.aloneSpeed : 1;
  }

  #scheduleAll(): void {
    for (const session of this.#running.keys()) this.#schedule(session);
  }

  #schedule(session: number): void {
    const batch = this.#running.get(session) as Running;
    batch.cancel();
    batch.cancel = this.#clock.after(batch.leftMs / this.#speed(), () => {
      this.#progress();
      this.#running.delete(session);
      if (this.#profile.aloneSpeed !== 1) this.#scheduleAll();
      batch.done(this.#clock.now - batch.startedAt);
    });
  }
}
