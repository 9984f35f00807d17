import type { EngineConfig } from '../engine/messages.js';
import { steppedCurve } from './buckets.js';
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

export function rulesFor(config: BatcherConfig): BatchRules {
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
