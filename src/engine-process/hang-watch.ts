import type { EngineConfig } from '../engine/messages.js';
import { latencyMs } from '../planning/curve.js';
import type { Lane } from './lane-messages.js';

const LOOK_MS = 250;
/** A batch may take so many times as long as it did when it was measured, alone on the machine. */
const SLOWER = 5;

/** How long a lane may take. The largest batch of a slow model may be meant to take its time. */
export function patienceMs({
  hangTimeoutMs,
  curve,
  plan,
}: Pick<EngineConfig, 'hangTimeoutMs' | 'curve' | 'plan'>): number {
  const longestMs = latencyMs(curve, plan.maxBatch);
  return Number.isNaN(longestMs) ? hangTimeoutMs : Math.max(hangTimeoutMs, SLOWER * longestMs);
}

type Watched = Pick<Lane, 'busySince'>;

/**
 * Notices a lane that does not come back from what it does. Looks are counted and not the time: when
 * the process was stopped, or its whole machine, no lane is to blame.
 */
export class HangWatch<Member extends Watched> {
  readonly #lanes: readonly Member[];
  readonly #maxLooks: number;
  /** How often each was seen with the same thing in hand as before. */
  readonly #seen = new Map<Member, { readonly busySince: number; readonly looks: number }>();
  readonly everyMs: number;

  constructor(lanes: readonly Member[], timeoutMs: number) {
    this.#lanes = lanes;
    this.everyMs = Math.min(LOOK_MS, timeoutMs / 4);
    this.#maxLooks = Math.ceil(timeoutMs / this.everyMs);
  }

  /** To be called every `everyMs`. @returns a lane that hangs */
  look(): Member | undefined {
    return this.#lanes.find((lane) => this.#hangs(lane));
  }

  #hangs(lane: Member): boolean {
    const { busySince } = lane;
    const last = this.#seen.get(lane);
    if (busySince === undefined) {
      this.#seen.delete(lane);
      return false;
    }
    const looks = last?.busySince === busySince ? last.looks + 1 : 0;
    this.#seen.set(lane, { busySince, looks });
    return looks >= this.#maxLooks;
  }
}
