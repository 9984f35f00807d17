import type { EngineConfig } from '../engine/messages.js';
import type { Curve } from '../planning/curve.js';
import { steppedCurve } from './buckets.js';
import { MemoryCeiling } from './memory-ceiling.js';
import type { BatchRules } from './policy.js';

/** What of an engine's settings concerns its batches. */
export type BatcherConfig = Pick<
  EngineConfig,
  | 'plan'
  | 'curve'
  | 'wideCurve'
  | 'buckets'
  | 'isPipelined'
  | 'batching'
  | 'windowMs'
  | 'maxItems'
  | 'maxDecodeBytes'
>;

/** The rules for batches, which change with the memory that there is. */
export class LiveRules {
  readonly #rules: BatchRules;
  readonly #ceiling: MemoryCeiling;

  /** @param fits larger batches do not fit into memory now */
  constructor(config: BatcherConfig, fits: number, now: number) {
    this.#rules = rulesFor(config);
    this.#ceiling = new MemoryCeiling(config.plan.maxBatch);
    this.#ceiling.hit(fits, now);
  }

  get curve(): Curve {
    return this.#rules.curve;
  }

  at(now: number): BatchRules {
    const maxBatch = this.#ceiling.maxBatch(now);
    return maxBatch === this.#rules.maxBatch ? this.#rules : { ...this.#rules, maxBatch };
  }

  /** More than these did not fit into memory. */
  lower(fits: number, now: number): void {
    this.#ceiling.hit(fits, now);
  }
}

function rulesFor(config: BatcherConfig): BatchRules {
  const { plan, curve, wideCurve, buckets, batching: mode, windowMs } = config;
  const { sessions, maxBatch, wideThreads } = plan;
  return {
    mode,
    sessions: areOne(config) ? 1 : sessions,
    maxBatch,
    windowMs,
    curve: steppedCurve(curve, buckets),
    ...(wideThreads > 0 && wideCurve.length > 0 && { wideCurve }),
  };
}

/** Whether the policy sees all sessions as one, as those that share a device: see `openings.ts`. */
export function areOne({ isPipelined, batching }: BatcherConfig): boolean {
  return isPipelined && batching === 'adaptive';
}
