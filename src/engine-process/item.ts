import type { ItemMeta } from '../engine/messages.js';

/**
 * One image on its way through the engine.
 *
 *       ┌──────────── a free session decodes it itself ─────────┐
 *     queued ──▶ decoding ──▶ ready ──▶ running ◀───────────────┘
 *        └──────────────────────┴──▶ dropped, when cancelled or expired before it runs
 */
export interface Item {
  readonly meta: ItemMeta;
  /** The compressed file; given back to the pool as soon as it is decoded. */
  readonly bytes: Uint8Array;
  /** On the engine's clock. */
  readonly deadline: number;
  state: 'queued' | 'decoding' | 'ready' | 'running';
  cancelled: boolean;
  /** Where its pixels lie, from the moment decoding starts. */
  slot: number;
  decodeMs: number;
  /** When it was first held back to let its batch grow. */
  heldSince?: number;
  /** When the current wait, for a decoder or for a session, began. */
  waitingSince: number;
}

/** Why an item need not be computed any more. */
export function dropReason(item: Item, now: number): 'cancelled' | 'expired' | undefined {
  if (item.cancelled) return 'cancelled';
  return now >= item.deadline ? 'expired' : undefined;
}
