import { Cancellation } from '../../src/cancellation.js';
import type { EngineEvents } from '../../src/engine/engine-link.js';
import type { EngineRequest } from '../../src/engine/item-book.js';
import type { ItemMeta } from '../../src/engine/messages.js';
import type { SupervisorHost } from '../../src/engine/supervisor.js';
import type { ErrorCode } from '../../src/errors.js';
import type { Detection } from '../../src/heads/detection.js';

let pids = 0;

/** An engine that does nothing by itself. */
export class FakeEngine {
  readonly sent: ItemMeta[] = [];
  readonly cancelled: number[] = [];
  readonly pid = ++pids;
  pings = 0;
  /** Why it has ended. */
  endedFor: string | undefined;
  wasKilled = false;
  readonly events: EngineEvents;
  readonly isMakeshift: boolean;

  /** @param isMakeshift whether it serves only until a better one is ready */
  constructor(events: EngineEvents, isMakeshift = false) {
    this.events = events;
    this.isMakeshift = isMakeshift;
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
    this.endedFor = reason;
    this.wasKilled = true;
    this.events.onEnd(reason);
  }
  /** It ends by itself. */
  crash(reason = 'SIGSEGV'): void {
    this.endedFor = reason;
    this.events.onEnd(reason);
  }
  ready(): void {
    this.events.onReady({ provider: 'fake', loadMs: 1 });
  }
  finish(id: number, detections: readonly Detection[] = []): void {
    const timings = { decodeMs: 1, inferMs: 1, postMs: 1 };
    const batch = { size: 1, session: 'narrow', laneMs: 3 } as const;
    this.events.onResults({ batch, items: [{ id, detections, timings }] });
  }
  refuse(id: number, code: ErrorCode): void {
    this.events.onResults({ items: [{ id, error: { code, detail: 'no' } }] });
  }
}

/** Its engines end up in `engines`, the newest last. */
export function engineHost(engines: FakeEngine[]): SupervisorHost {
  return {
    spawn: (events) => {
      const engine = new FakeEngine(events);
      engines.push(engine);
      return engine;
    },
    onBatch: () => undefined,
    onDropped: () => undefined,
    onWasted: () => undefined,
    onKiller: () => false,
    onRestart: () => undefined,
    onBackUp: () => undefined,
    onCeiling: () => undefined,
  };
}

/** A small JPEG, by its header. */
export const info = {
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
