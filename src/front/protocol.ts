/**
 * What a front and the server process say to each other. Requests are told apart by a number that
 * the front chooses. Lists, not objects: there are several of these for every request.
 */
import type { RefusalCode } from '../admission/gate.js';
import type { Config } from '../config/schema.js';
import type { ErrorCode } from '../errors.js';
import type { Detection } from '../heads/detection.js';
import type { ImageInfo } from '../image/info.js';
import type { MetricValues } from '../telemetry/metrics.js';

/** What a front is told at its start. */
export interface Welcome {
  readonly config: Config;
  readonly models: readonly string[];
  readonly defaultModel: string;
  readonly maxConnections: number;
  /** Where its HTTP server listens, so that it is a whole one; connections come another way. */
  readonly httpPath: string;
  /** Where it listens for engines. */
  readonly intakePath: string;
  /** What engines must show. */
  readonly token: string;
  /** Where the server process answers everything that is no predict request. */
  readonly innerPath: string;
  /** Removed by whoever is left. */
  readonly folder: string;
}

/** What the gate must know. */
export type Asked = readonly [
  model: number,
  tenant: number,
  id: string,
  isBackground: boolean,
  bytes: number,
  timeLeftMs: number,
];
type Question = readonly [seq: number, ...Asked];

export type ToServer =
  /** Connections can come. */
  | readonly ['ready']
  /** The last connection has come, and another one may. */
  | readonly ['took']
  /** So many connections have closed. */
  | readonly ['closed', count: number]
  | readonly ['enter', ...Question]
  | readonly ['assess', ...Question]
  | readonly ['predict', seq: number, info: ImageInfo, threshold: number, bytes: number]
  /** Both at once, where it is likely that it is let in. */
  | readonly ['order', ...Question, info: ImageInfo, threshold: number]
  /** Its deadline has passed. */
  | readonly ['cancel', seq: number]
  /** It is over without an answer, which says the same. */
  | readonly ['leave', seq: number]
  | readonly ['hashed', seq: number, hash: string]
  /** An image that is gone was to be sent. */
  | readonly ['unsent', seq: number, engine: number, id: number]
  /** An engine has closed its connection. */
  | readonly ['broken', engine: number]
  /** What this front holds of the budget. */
  | readonly ['bytes', bytes: number]
  /** It is there. */
  | readonly ['pong']
  | readonly ['metrics', question: number, values: MetricValues]
  | readonly ['drained', cutOff: number];

export type ToFront =
  | readonly ['welcome', Welcome]
  | readonly ['entered', seq: number]
  | readonly [
      'refused',
      seq: number,
      code: ErrorCode,
      detail: string,
      retryAfterSeconds: number | null,
    ]
  | readonly [
      'assessed',
      seq: number,
      code?: RefusalCode,
      detail?: string,
      retryAfterSeconds?: number,
    ]
  /** Give this image to that engine. */
  | readonly ['send', seq: number, engine: number, id: number, rank: number]
  | readonly [
      'answer',
      seq: number,
      detections: readonly Detection[],
      decodeMs: number,
      inferMs: number,
      postMs: number,
      batchSize: number,
      predictedMs: number,
      admitMs: number,
    ]
  | readonly [
      'failed',
      seq: number,
      code: ErrorCode,
      detail: string,
      retryAfterSeconds: number | null,
      admitMs: number | null,
    ]
  /** Nobody needs the image any more. Answers say so as well. */
  | readonly ['release', seq: number]
  | readonly ['hash', seq: number]
  | readonly ['crowded', model: number, isCrowded: boolean]
  | readonly ['gone', engine: number]
  /** What all others hold of the budget. */
  | readonly ['bytes', bytes: number]
  | readonly ['ping']
  | readonly ['collect', question: number]
  | readonly ['drain', acceptMs: number, graceMs: number];
