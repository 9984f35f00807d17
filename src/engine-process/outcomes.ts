import type { RanBatch, SessionKind } from '../engine/messages.js';
import { dropReason, type Item } from './item.js';
import type { RanAnswer, RunResult } from './lane-messages.js';
import type { ItemReport } from './report.js';

/** What the server is told about a batch; nothing when nothing ran. */
export function ranBatch(
  session: SessionKind,
  laneMs: number,
  { batchSize: size, ceiling }: RanAnswer,
): { batch?: RanBatch } {
  if (size === 0) return {};
  return { batch: { size, session, laneMs, ...(ceiling !== undefined && { ceiling }) } };
}

/** What became of the items of a batch. */
export function outcomesOf(
  batch: readonly Item[],
  { inferMs, postMs, results }: RanAnswer,
): ItemReport[] {
  return batch.map(({ meta: { id }, decodeMs: before }, index): ItemReport => {
    const { decodeMs, result } = results[index] ?? MISSING_RESULT;
    if (typeof result !== 'string') return { id, error: result };
    return { id, found: result, timings: { decodeMs: before + decodeMs, inferMs, postMs } };
  });
}

/** What became of an item that is not computed any more. */
export function droppedOutcome(item: Item, now: number): ItemReport {
  const stage = item.state === 'ready' ? 'decoded' : 'undecoded';
  return { id: item.meta.id, dropped: dropReason(item, now) ?? 'cancelled', stage };
}

const MISSING_RESULT: RunResult = {
  decodeMs: 0,
  result: { code: 'internal_error', detail: 'The model gave no result for this image.' },
};
