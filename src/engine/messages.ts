/** What the JSON parts of the frames hold. */
import type { ErrorCode } from '../errors.js';
import type { Detection } from '../heads/detection.js';
import type { HeadName } from '../heads/head.js';
import type { ImageInfo } from '../image/info.js';

export interface Hello {
  readonly version: number;
}

/** Sessions × threads × maximum batch. */
export interface Plan {
  readonly sessions: number;
  readonly threads: number;
  readonly maxBatch: number;
}

export type BatchingMode = 'adaptive' | 'fixed' | 'off';

export interface EngineConfig {
  readonly modelPath: string;
  readonly runtime: 'onnx' | 'stub';
  readonly head: HeadName;
  readonly labels: readonly string[];
  readonly input: { readonly width: number; readonly height: number };
  readonly plan: Plan;
  /** Threads that only decode, beside those with a session. */
  readonly decodeLanes: number;
  readonly batching: BatchingMode;
  readonly windowMs: number;
  /** Items that can be decoded or waiting for a session at the same time. */
  readonly maxItems: number;
  readonly maxPixels: number;
  /** Pictures are decoded side by side only as long as their estimates fit in here together. */
  readonly maxDecodeBytes: number;
  /** A batch or decode that takes longer than this means that the engine hangs. */
  readonly hangTimeoutMs: number;
}

export interface Ready {
  readonly provider: string;
  readonly loadMs: number;
}

export interface Failed {
  readonly message: string;
}

export interface ItemMeta {
  readonly id: number;
  readonly threshold: number;
  /** How long the answer is still wanted, counted from the moment the frame was sent. */
  readonly timeLeftMs: number;
  readonly image: ImageInfo;
}

export interface CancelMeta {
  readonly id: number;
}

export interface ItemTimings {
  readonly decodeMs: number;
  readonly inferMs: number;
  readonly postMs: number;
}

export type ItemOutcome =
  | {
      readonly id: number;
      readonly detections: readonly Detection[];
      readonly timings: ItemTimings;
    }
  | { readonly id: number; readonly error: { readonly code: ErrorCode; readonly detail: string } }
  /** Cancelled or expired before it was computed. */
  | { readonly id: number; readonly dropped: 'cancelled' | 'expired'; readonly stage: DropStage };

export type DropStage = 'undecoded' | 'decoded';

export interface Results {
  /** The size of the batch that ran; absent when nothing ran. */
  readonly batchSize?: number;
  readonly items: readonly ItemOutcome[];
}

export interface Pong {
  readonly rssBytes: number;
}
