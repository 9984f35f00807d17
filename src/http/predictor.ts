import type { Refusal, Visitor } from '../admission/gate.js';
import type { Cancellation } from '../cancellation.js';
import type { ItemTimings } from '../engine/messages.js';
import type { Detection } from '../heads/detection.js';
import type { ImageInfo } from '../image/info.js';

/** What is to be found in which image. */
export interface Order {
  readonly image: readonly Buffer[];
  readonly info: ImageInfo;
  readonly threshold: number;
  readonly cancellation: Cancellation;
  /** @param ms how long it waited for its turn */
  onAdmitted(ms: number): void;
}

export interface Prediction {
  readonly detections: readonly Detection[];
  readonly timings: ItemTimings;
  readonly batchSize: number;
  /** How long after it was ordered the answer was expected. */
  readonly predictedMs: number;
}

/** A request that was let in. */
export interface Guest {
  predict(order: Order): Promise<Prediction>;
  /** It is over; called once. */
  leave(): void;
}

/**
 * Who lets predict requests in and answers them: the models of this process, or those of the
 * server process when this one only receives requests.
 */
export interface Predictor {
  /** @throws for a model that is not there */
  nameOf(model: string | undefined): string;
  /**
   * The name of a model at which somebody who comes now may be refused.
   * @param isAsking whether the client waits to be told, so that it must not be told wrongly
   */
  findCrowded(model: string | undefined, isAsking: boolean): string | undefined;
  /** Whether a request would be refused, before anything else is done for it. */
  assess(model: string, visitor: Visitor, done: (refusal: Refusal | undefined) => void): void;
  /** @param done called once, with an error when it is refused */
  enter(model: string, visitor: Visitor, done: (error: Error | null, guest?: Guest) => void): void;
}
