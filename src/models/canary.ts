import { Cancellation } from '../cancellation.js';
import type { EngineSeat } from '../engine/engine-seat.js';
import type { EngineSupervisor } from '../engine/supervisor.js';
import { ShoalError } from '../errors.js';
import type { Detection } from '../heads/detection.js';
import type { ImageInfo } from '../image/info.js';

export interface CanaryPicture {
  readonly bytes: Uint8Array;
  readonly info: ImageInfo;
  readonly threshold: number;
  /** What is to be seen in it. Without that, the first answer is what the others are held to. */
  readonly detections?: readonly Detection[];
}

export interface CanaryHost {
  /** Why these are not the same; `undefined` when they are. */
  compare(expected: readonly Detection[], actual: readonly Detection[]): string | undefined;
  onVerdict(verdict: CanaryVerdict): void;
}

/** `unanswered`: it was too late or the engine ended, which others see to. */
export type CanaryVerdict = 'ok' | 'wrong' | 'unanswered';

/** An engine that takes longer is overloaded, or hangs, which is noticed elsewhere. */
const PATIENCE_MS = 10_000;

/**
 * Gives every engine a known picture now and then. A GPU whose memory is damaged or whose context
 * is poisoned may go on answering, only wrongly; such an engine is killed, and what it was working
 * on is computed again by the next one.
 */
export class Canary {
  readonly #engines: EngineSupervisor;
  readonly #picture: CanaryPicture;
  readonly #host: CanaryHost;
  readonly #asked = new Set<EngineSeat>();
  #expected: readonly Detection[] | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(engines: EngineSupervisor, picture: CanaryPicture, host: CanaryHost) {
    this.#engines = engines;
    this.#picture = picture;
    this.#host = host;
    this.#expected = picture.detections;
  }

  start(intervalMs: number): void {
    this.#timer = setInterval(() => {
      for (const seat of this.#engines.seats) void this.check(seat);
    }, intervalMs);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** One at a time for each engine; one that is on its way out or not there is left alone. */
  async check(seat: EngineSeat): Promise<void> {
    if (!seat.isOpen || this.#asked.has(seat)) return;
    this.#asked.add(seat);
    const { pid } = seat;
    const { verdict, reason } = await this.#ask(seat);
    this.#asked.delete(seat);
    // By now there may be another engine in this seat, which has done nothing wrong.
    if (verdict === 'wrong' && seat.pid === pid) {
      seat.kill(`it answered a known picture wrongly: ${reason}`);
    }
    this.#host.onVerdict(verdict);
  }

  async #ask(seat: EngineSeat): Promise<{ verdict: CanaryVerdict; reason: string }> {
    const { bytes, info, threshold } = this.#picture;
    try {
      const { detections } = await this.#engines.submitTo(seat, {
        image: [bytes],
        info,
        threshold,
        deadline: performance.now() + PATIENCE_MS,
        isBackground: false,
        rank: 0,
        cancellation: new Cancellation(),
      });
      this.#expected ??= detections;
      const reason = this.#host.compare(this.#expected, detections);
      return reason === undefined ? { verdict: 'ok', reason: '' } : { verdict: 'wrong', reason };
    } catch (error) {
      // Only of a picture that was answered before.
      const isKnown = this.#expected !== undefined;
      const isWrong = isKnown && error instanceof ShoalError && WRONG.includes(error.code);
      return { verdict: isWrong ? 'wrong' : 'unanswered', reason: (error as Error).message };
    }
  }
}

/** The picture is fine, so whoever fails on it is not. */
const WRONG: readonly string[] = ['model_failed', 'model_output_invalid', 'invalid_image'];
