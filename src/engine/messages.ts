/** What the JSON parts of the frames hold. */
import type { Device } from '../config/devices.js';
import type { ErrorCode } from '../errors.js';
import type { Detection } from '../heads/detection.js';
import type { HeadName } from '../heads/head.js';
import type { ImageInfo } from '../image/info.js';
import type { Curve } from '../planning/curve.js';

export interface Hello {
  readonly version: number;
}

/** Sessions × threads × maximum batch. */
export interface Plan {
  readonly sessions: number;
  readonly threads: number;
  readonly maxBatch: number;
  /** Threads of one more session, which has all cores for a lone image; 0 for none. */
  readonly wideThreads: number;
}

/** Narrow sessions work side by side; the wide one has all cores and works alone. */
export type SessionKind = 'narrow' | 'wide';

export type BatchingMode = 'adaptive' | 'fixed' | 'off';

export interface EngineConfig {
  readonly modelPath: string;
  readonly runtime: 'onnx' | 'stub';
  readonly device: Device;
  /** Where libraries for the device may have been installed. */
  readonly cacheFolder: string;
  readonly head: HeadName;
  readonly labels: readonly string[];
  readonly input: { readonly width: number; readonly height: number };
  readonly plan: Plan;
  /** Measured latency by batch size; empty when it was not measured. */
  readonly curve: Curve;
  readonly wideCurve: Curve;
  /** Batch sizes that every session runs once before it serves: a first run is slow. */
  readonly warmBatches: readonly number[];
  /** No further one of these is begun this long after the first. */
  readonly warmUpMs: number;
  /**
   * Batch sizes that sessions run, where every other one would have to be prepared first; a batch
   * is filled up to the next of them. Empty: any size.
   */
  readonly buckets: readonly number[];
  /** Session threads only run batches; other threads put them together and read the outputs. */
  readonly isPipelined: boolean;
  /** It has not all that was planned, to be ready sooner; another one takes over from it. */
  readonly isMakeshift?: boolean;
  /** Larger batches have not fitted into memory lately. */
  readonly ceiling?: number;
  /** Say in `ready` where the parts of the model run; it costs one run. */
  readonly countsNodes: boolean;
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

/** Where the nodes of a model's graph really run. */
export interface Placement {
  /** On the provider that was asked for. */
  readonly nodes: number;
  readonly ofNodes: number;
}

export interface Ready {
  /** The one that was asked for and is in use: there is no other to fall back on. */
  readonly provider: string;
  readonly placement?: Placement;
  readonly loadMs: number;
  /** The largest batch that fitted into memory, when the plan's did not. */
  readonly ceiling?: number;
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
  /** It may wait for everything that is not. */
  readonly isBackground: boolean;
  /** Lower ones go first; 0 for one whose tenant has nothing else in work. */
  readonly rank: number;
}

/** From which processes, besides the server, items come. Those not listed any more are gone. */
export interface IntakeOrder {
  /** Which engine this is, for them. */
  readonly engine: number;
  readonly token: string;
  readonly sources: readonly IntakeSource[];
}

export interface IntakeSource {
  readonly slot: number;
  readonly path: string;
}

/** The first frame of an engine to a process from which it takes items. */
export interface IntakeHello {
  readonly version: number;
  readonly engine: number;
  readonly token: string;
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

/** A batch that ran. */
export interface RanBatch {
  readonly size: number;
  readonly session: SessionKind;
  /** How long its lane was busy with it, decoding included. */
  readonly laneMs: number;
  /** Memory was not enough for this batch; larger ones than this are not tried again. */
  readonly ceiling?: number;
}

export interface Results {
  /** Absent when nothing ran. */
  readonly batch?: RanBatch;
  readonly items: readonly ItemOutcome[];
}

export interface Pong {
  readonly rssBytes: number;
  /** Time of recent batches over what the profile says. */
  readonly drift: number;
}

/** Run made-up batches on all sessions at once and say how long each took. */
export interface Measure {
  readonly batch: number;
  /** How often every session runs it. */
  readonly runs: number;
}

export interface Measured {
  readonly batch: number;
  readonly ms: readonly number[];
  /** What decoding an ordinary photo takes. */
  readonly decodeMs: number;
  readonly rssBytes: number;
}

/** The engine is about to end itself because these images did not return from a session. */
export interface Stuck {
  readonly ids: readonly number[];
}
