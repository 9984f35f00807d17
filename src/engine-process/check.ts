import type { Check, Checked, ItemMeta, ItemOutcome, Results } from '../engine/messages.js';

/**
 * A check goes the way of an item, so that it sees what items see: the same decoder, session and
 * head, with others in its batch. Its number is negative, which no item's is.
 */
export function asItem({ id, threshold, timeLeftMs, image }: Check): ItemMeta {
  return { id: -id, threshold, timeLeftMs, image, isBackground: false, rank: 0 };
}

/** Takes the outcomes of checks out of a report. `results` is absent when nothing else is in it. */
export function splitChecks({ batch, items }: Results): {
  readonly results?: Results;
  readonly checked: readonly Checked[];
} {
  const own = items.filter(({ id }) => id >= 0);
  const checked = items.filter(({ id }) => id < 0).map(toChecked);
  if (checked.length > 0 && own.length === 0 && batch === undefined) return { checked };
  return { results: { ...(batch !== undefined && { batch }), items: own }, checked };
}

function toChecked(outcome: ItemOutcome): Checked {
  const id = -outcome.id;
  if ('detections' in outcome) return { id, detections: outcome.detections };
  return { id, error: 'error' in outcome ? outcome.error.detail : `it was ${outcome.dropped}` };
}
