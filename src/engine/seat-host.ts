import type { EngineEvents } from './engine-link.js';
import type { ImageSource } from './image-source.js';
import type { ItemMeta, Ready, Results } from './messages.js';

/** The part of an engine process that its supervisor uses. */
export interface Link {
  readonly pid?: number | undefined;
  /** It was started in a hurry and serves until a better one is ready. */
  readonly isMakeshift?: boolean;
  /** It did not end by itself. */
  readonly wasKilled?: boolean;
  sendItem(meta: ItemMeta, image: ImageSource): void;
  sendCancel(id: number): void;
  sendPing(): void;
  kill(reason?: string): void;
}

export interface SeatHost {
  /** @param isUrgent somebody waits for it: what can be done later should be */
  spawn(events: EngineEvents, isUrgent: boolean): Link;
  /** It can take items, for the first time or again. */
  onReady(ready: Ready): void;
  /** Larger batches than this do not fit into its memory, which was not so before. */
  onCeiling(batch: number): void;
  onResults(results: Results): void;
  /** It is gone with all that was inside, and another one is on its way. */
  onCrash(crash: Crash): void;
  /** @param hasTakenOver from one that served until now; otherwise there was none for a while */
  onBackUp(loadMs: number, hasTakenOver: boolean): void;
}

export interface Crash {
  readonly reason: string;
  /** Until the next one is started. */
  readonly delayMs: number;
  /** What it was stuck in, when it could still tell. */
  readonly stuck: readonly number[];
  /** It was ended from here: it did not answer, or answered nonsense, which is no image's fault. */
  readonly wasKilled: boolean;
}
