/** What the batcher and a lane say to each other; a plain lane is a worker thread. */
import type { EngineConfig, SessionKind } from '../engine/messages.js';
import type { ErrorCode } from '../errors.js';
import type { ImageInfo } from '../image/info.js';

export interface LaneConfig {
  readonly engine: EngineConfig;
  /** Without one, a lane only decodes. */
  readonly hasSession: boolean;
  /** One lane also owns the wide session, which never runs beside its narrow one. */
  readonly hasWide: boolean;
  /** Room for `engine.maxItems` decoded pictures, shared by all lanes. */
  readonly slots: SharedArrayBuffer;
  /** One lane closes all but the wanted image loaders, for all lanes, and proves it. */
  readonly blocksLoaders: boolean;
}

/** A picture that is still compressed. */
export interface Encoded {
  /** Shared with the main thread, which reuses it when the lane has answered. */
  readonly bytes: Uint8Array;
  readonly image: ImageInfo;
}

/** Decode a picture into a slot, for whichever lane will run it. */
export interface DecodeTask {
  readonly kind: 'decode';
  readonly source: Encoded;
  readonly slot: number;
}

/** Run a batch, after decoding those pictures of it that are not decoded yet. */
export interface RunTask {
  readonly kind: 'run';
  readonly session: SessionKind;
  readonly items: readonly RunItem[];
}

/** What a head needs to know about a picture: the size as a person sees it, and what to leave out. */
export interface Seen {
  readonly threshold: number;
  readonly width: number;
  readonly height: number;
}

export interface RunItem extends Seen {
  /** The slot with its pixels, or the file. */
  readonly source: number | Encoded;
}

export type LaneTask = DecodeTask | RunTask;

export interface PublicError {
  readonly code: ErrorCode;
  readonly detail: string;
}

export interface RunResult {
  /** 0 for a picture that was decoded before. */
  readonly decodeMs: number;
  /** The detections as JSON, or why there are none. */
  readonly result: string | PublicError;
}

export type LaneAnswer =
  | { readonly kind: 'decoded'; readonly ms: number; readonly error?: PublicError }
  | {
      readonly kind: 'ran';
      /** Pictures that really ran together: those that could be decoded. */
      readonly batchSize: number;
      readonly inferMs: number;
      readonly postMs: number;
      /** How long the session was busy with it, where that is not all the lane did meanwhile. */
      readonly busyMs?: number;
      /** Memory was not enough for this batch, but was for this many images. */
      readonly ceiling?: number;
      /** In the order of the task's items. */
      readonly results: readonly RunResult[];
    }
  /** News of a batch whose answer is still to come: its pixels have been copied, it may run now. */
  | { readonly kind: 'packed' }
  /** And: the session is done with it. */
  | { readonly kind: 'freed' };
export type RanAnswer = Extract<LaneAnswer, { kind: 'ran' }>;

/** What the batcher gives tasks to, one at a time unless it can stage. */
export interface Lane {
  /** Whether it can run batches. */
  readonly hasSession: boolean;
  /** Whether it owns the wide session as well. */
  readonly hasWide: boolean;
  readonly canDecode: boolean;
  readonly isIdle: boolean;
  /** It works on one, and can take one more that begins the moment that one ends. */
  readonly canStage: boolean;
  /** When what it works on began. */
  readonly busySince: number | undefined;
  assign(task: LaneTask, onAnswer: (answer: LaneAnswer) => void): void;
}
