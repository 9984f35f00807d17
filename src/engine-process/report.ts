import type { ItemOutcome, ItemTimings, RanBatch } from '../engine/messages.js';

/** Detections as JSON. They become text in the thread that finds them: this one has no time for it. */
export interface Found {
  readonly id: number;
  readonly found: string;
  readonly timings: ItemTimings;
}

/** What became of an item, before it is written out. */
export type ItemReport = Found | Exclude<ItemOutcome, { detections: unknown }>;

/** What `Results` is on the other side. */
export interface Report {
  /** Absent when nothing ran. */
  readonly batch?: RanBatch;
  readonly items: readonly ItemReport[];
}

export function reportText({ batch, items }: Report): string {
  const start = batch === undefined ? '{' : `{"batch":${JSON.stringify(batch)},`;
  return `${start}"items":[${items.map(itemText).join()}]}`;
}

function itemText(item: ItemReport): string {
  if (!('found' in item)) return JSON.stringify(item);
  const timings = JSON.stringify(item.timings);
  return `{"id":${String(item.id)},"detections":${item.found},"timings":${timings}}`;
}
