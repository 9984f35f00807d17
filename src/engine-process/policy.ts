import type { BatchingMode } from '../engine/messages.js';

/** What the batcher sees at the moment of a decision. */
export interface BatchView {
  /** Items that are decoded and wait for a session. */
  readonly ready: number;
  /** How long the oldest of them has waited. */
  readonly oldestReadyMs: number;
  readonly idleSessions: number;
}

export interface BatchRules {
  readonly mode: BatchingMode;
  readonly maxBatch: number;
  /** The longest that a ready item is held back to let a batch grow. */
  readonly windowMs: number;
}

export type BatchDecision =
  | { readonly kind: 'run'; readonly size: number }
  | { readonly kind: 'wait'; readonly forMs: number }
  | { readonly kind: 'nothing' };

/**
 * Whether an idle session should start a batch now, and of what size. Pure: the same view always
 * gives the same answer.
 *
 * - `adaptive`: work-conserving. A free session takes what is ready and never waits; batches grow
 *   by themselves while all sessions are busy. With several sessions free, the items are shared.
 * - `fixed`: collects for the whole window, or until the batch is full.
 * - `off`: one item at a time.
 */
export function decideBatch(view: BatchView, rules: BatchRules): BatchDecision {
  if (view.ready === 0 || view.idleSessions === 0) return { kind: 'nothing' };
  const full = Math.min(view.ready, rules.maxBatch);
  switch (rules.mode) {
    case 'off':
      return { kind: 'run', size: 1 };
    case 'adaptive': {
      const share = Math.ceil(view.ready / view.idleSessions);
      return { kind: 'run', size: Math.min(share, full) };
    }
    case 'fixed': {
      const leftMs = rules.windowMs - view.oldestReadyMs;
      if (full === rules.maxBatch || leftMs <= 0) return { kind: 'run', size: full };
      return { kind: 'wait', forMs: leftMs };
    }
  }
}
