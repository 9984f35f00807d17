import { Cancellation } from '../../src/cancellation.js';
import type { EngineEvents } from '../../src/engine/engine-link.js';
import type { EngineRequest } from '../../src/engine/item-book.js';
import type { ItemMeta } from '../../src/engine/messages.js';

/** An engine that does nothing by itself. */
export class FakeEngine {
  readonly sent: ItemMeta[] = [];
  readonly cancelled: number[] = [];
  pings = 0;
  killedFor: string | undefined;
  readonly events: EngineEvents;

  constructor(events: EngineEvents) {
    this.events = events;
  }

  sendItem(meta: ItemMeta): void {
    this.sent.push(meta);
  }
  sendCancel(id: number): void {
    this.cancelled.push(id);
  }
  sendPing(): void {
    this.pings++;
  }
  kill(reason = 'killed'): void {
    this.killedFor = reason;
    this.events.onEnd(reason);
  }
  ready(): void {
    this.events.onReady({ provider: 'fake', loadMs: 1 });
  }
  finish(id: number): void {
    const timings = { decodeMs: 1, inferMs: 1, postMs: 1 };
    const batch = { size: 1, session: 'narrow', laneMs: 3 } as const;
    this.events.onResults({ batch, items: [{ id, detections: [], timings }] });
  }
}

const info = {
  format: 'jpeg',
  width: 1,
  height: 1,
  orientation: 1,
  components: 3,
  depth: 8,
  progressive: false,
} as const;
export const request = (cancellation = new Cancellation()): EngineRequest => ({
  image: [Buffer.alloc(1)],
  info,
  threshold: 0.5,
  deadline: performance.now() + 10_000,
  isBackground: false,
  rank: 0,
  cancellation,
});
