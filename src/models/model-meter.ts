import type { Forecast } from '../admission/forecast.js';
import type { DropStage, ItemTimings, RanBatch } from '../engine/messages.js';
import type { Metrics } from '../telemetry/metrics.js';

/** Counts what happens to the images of one model, and tells the forecast. */
export class ModelMeter {
  readonly #model: string;
  readonly #forecast: Forecast;
  readonly #metrics: Metrics;
  #itemMs = 0;

  constructor(model: string, forecast: Forecast, metrics: Metrics) {
    this.#model = model;
    this.#forecast = forecast;
    this.#metrics = metrics;
  }

  ran({ size, session, laneMs }: RanBatch): void {
    const model = this.#model;
    this.#metrics.observe('inference_batch_size', { model }, size);
    this.#metrics.count('shoal_batches_total', { model, session });
    const itemMs = laneMs / size;
    this.#itemMs = this.#itemMs === 0 ? itemMs : this.#itemMs + 0.1 * (itemMs - this.#itemMs);
    // The wide session is for times without load and says nothing about the others.
    if (session === 'narrow') this.#forecast.ran(size, laneMs);
  }

  /** Nobody wants it any more, and it was not computed. */
  dropped(reason: 'cancelled' | 'expired', stage: DropStage | 'waiting'): void {
    const model = this.#model;
    this.#metrics.count('shoal_dropped_items_total', { model, reason, stage });
    this.#metrics.count(
      'shoal_saved_compute_seconds_total',
      { model, reason },
      this.#itemMs / 1000,
    );
  }

  /** Nobody wants it any more, but it was computed. */
  wasted({ decodeMs, inferMs }: ItemTimings, { size }: RanBatch): void {
    const seconds = (decodeMs + inferMs / size) / 1000;
    this.#metrics.count('shoal_wasted_compute_seconds_total', { model: this.#model }, seconds);
  }

  quarantined(): void {
    this.#metrics.count('shoal_quarantine_total', { model: this.#model, event: 'added' });
  }

  /** @param check throws for an image that is in quarantine */
  checkQuarantine(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#metrics.count('shoal_quarantine_total', { model: this.#model, event: 'refused' });
      throw error;
    }
  }
}
