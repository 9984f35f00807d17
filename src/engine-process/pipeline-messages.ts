/** What the main thread and the threads of a pipelined engine say to each other. */
import type { EngineConfig } from '../engine/messages.js';
import type { Outputs } from '../heads/outputs.js';
import type { DecodeTask, LaneAnswer, PublicError, RunResult, Seen } from './lane-messages.js';

export interface SessionThreadConfig {
  readonly engine: EngineConfig;
}

export interface HelperThreadConfig {
  readonly engine: EngineConfig;
  /** Room for `engine.maxItems` decoded pictures, shared by all helpers. */
  readonly slots: SharedArrayBuffer;
  /** One helper closes all but the wanted image loaders, for all threads, and proves it. */
  readonly blocksLoaders: boolean;
}

/** Put the pictures of these slots into `pixels`, one behind the other. */
export interface PackTask {
  readonly kind: 'pack';
  readonly slots: readonly number[];
  /** How many pictures run: the rest is blank. */
  readonly size: number;
  /** Memory that travels from thread to thread; nobody keeps it. */
  readonly pixels: ArrayBuffer;
}

/** Turn the outputs of a batch into detections. */
export interface FinishTask {
  readonly kind: 'finish';
  readonly parts: readonly RanPart[];
  readonly items: readonly Seen[];
}

/** Run what was packed. */
export interface SessionTask {
  readonly kind: 'run';
  readonly pixels: ArrayBuffer;
  /** Pictures in it, without the blank ones. */
  readonly count: number;
}

/** What came of `count` pictures of a batch that ran together: all of them, unless something failed. */
export type RanPart =
  | { readonly count: number; readonly outputs: Outputs }
  | { readonly count: 1; readonly error: PublicError };

export type HelperTask = DecodeTask | PackTask | FinishTask;
export type HelperAnswer =
  | Extract<LaneAnswer, { kind: 'decoded' }>
  | { readonly kind: 'packed'; readonly pixels: ArrayBuffer }
  | {
      readonly kind: 'finished';
      readonly ms: number;
      readonly results: readonly RunResult['result'][];
    };

export interface SessionAnswer {
  readonly kind: 'ran';
  readonly pixels: ArrayBuffer;
  readonly ms: number;
  readonly parts: readonly RanPart[];
  /** Memory was not enough for this batch, but was for this many images. */
  readonly ceiling?: number;
}
