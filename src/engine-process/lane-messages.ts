/** What the engine's main thread and a lane (worker thread) say to each other. */
import type { EngineConfig } from '../engine/messages.js';
import type { ErrorCode } from '../errors.js';
import type { Detection } from '../heads/detection.js';
import type { ImageInfo } from '../image/info.js';

export interface LaneConfig {
  readonly engine: EngineConfig;
  /** Room for `engine.maxItems` decoded pictures, shared by all lanes. */
  readonly slots: SharedArrayBuffer;
  /** One lane proves at start-up that only the wanted image loaders are open. */
  readonly provesLoaders: boolean;
}

export interface DecodeTask {
  readonly kind: 'decode';
  /** Shared with the main thread, which reuses it when the lane has answered. */
  readonly bytes: Uint8Array;
  readonly image: ImageInfo;
  readonly slot: number;
}

export interface RunTask {
  readonly kind: 'run';
  readonly items: readonly RunItem[];
}

export interface RunItem {
  readonly slot: number;
  readonly threshold: number;
  readonly width: number;
  readonly height: number;
}

export type LaneTask = DecodeTask | RunTask;

export interface PublicError {
  readonly code: ErrorCode;
  readonly detail: string;
}

export type LaneAnswer =
  | { readonly kind: 'ready'; readonly provider: string }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'decoded'; readonly ms: number; readonly error?: PublicError }
  | {
      readonly kind: 'ran';
      readonly inferMs: number;
      readonly postMs: number;
      /** In the order of the task's items. */
      readonly results: readonly (readonly Detection[] | PublicError)[];
    };
