import type { Prospect } from './gaps.js';
import type { BatchView } from './policy.js';
import type { Traffic } from './traffic.js';
import type { Waitlist } from './waitlist.js';

type Given = 'idleSessions' | 'joinable' | 'stageable' | 'isDecodingLate' | 'perItemMs';
interface Simple extends Pick<LiveView, Given> {
  readonly now: number;
  readonly windowMs: number;
}

/**
 * What the policy sees now. It looks at everything only when the simple things do not decide, and
 * that is seldom: most events find all sessions busy. So the rest is worked out when it is asked for.
 */
export class LiveView implements BatchView {
  readonly #source: Waitlist;
  readonly #traffic: Traffic;
  readonly #now: number;
  readonly #windowMs: number;
  readonly idleSessions: number;
  readonly joinable: number;
  readonly stageable: number;
  readonly isDecodingLate: boolean;
  readonly perItemMs: number;
  #times: ReturnType<Waitlist['times']> | undefined;
  #forecast: readonly Prospect[] | undefined;

  constructor(
    source: Waitlist,
    traffic: Traffic,
    { now, windowMs, idleSessions, joinable, stageable, isDecodingLate, perItemMs }: Simple,
  ) {
    this.#source = source;
    this.#traffic = traffic;
    this.#now = now;
    this.#windowMs = windowMs;
    this.idleSessions = idleSessions;
    this.joinable = joinable;
    this.stageable = stageable;
    this.isDecodingLate = isDecodingLate;
    this.perItemMs = perItemMs;
  }

  get waiting(): number {
    return this.#source.interactive.length;
  }

  get background(): number {
    return this.#source.background.length;
  }

  get oldestMs(): number {
    return this.#allTimes().oldestMs;
  }

  get heldMs(): number {
    return this.#allTimes().heldMs;
  }

  get slackMs(): number {
    return this.#allTimes().slackMs;
  }

  get modest(): number {
    return this.#source.modest;
  }

  get forecast(): readonly Prospect[] {
    return (this.#forecast ??= this.#traffic.forecast(this.#now, this.#windowMs));
  }

  get arrivalsPerMs(): number {
    return this.#traffic.arrivalsPerMs(this.#now);
  }

  get company(): number {
    return this.#traffic.company;
  }

  get drift(): number {
    return this.#traffic.drift;
  }

  #allTimes(): ReturnType<Waitlist['times']> {
    return (this.#times ??= this.#source.times(this.#now));
  }
}
