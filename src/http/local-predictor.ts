import { enter } from '../admission/entrance.js';
import type { Refusal, Visitor } from '../admission/gate.js';
import type { ModelRegistry } from '../models/registry.js';
import type { ServedModel } from '../models/served-model.js';
import type { Guest, Order, Prediction, Predictor } from './predictor.js';

/** With the models of this very process: everything is answered at once. */
export class LocalPredictor implements Predictor {
  readonly #models: ModelRegistry;

  constructor(models: ModelRegistry) {
    this.#models = models;
  }

  nameOf(model: string | undefined): string {
    return this.#models.get(model).name;
  }

  /** Whoever asks may have wishes of its own, for which there is no room though there is no crowd. */
  findCrowded(name: string | undefined, isAsking: boolean): string | undefined {
    const model = this.#models.find(name);
    return isAsking || model?.gate.isCrowded === true ? model?.name : undefined;
  }

  assess(name: string, visitor: Visitor, done: (refusal: Refusal | undefined) => void): void {
    const { gate } = this.#models.get(name);
    done(gate.isExpected(visitor.id) ? undefined : gate.assess(visitor));
  }

  enter(name: string, newcomer: Visitor, done: (error: Error | null, guest?: Guest) => void): void {
    const model = this.#models.get(name);
    let visitor: Visitor;
    try {
      visitor = enter(model.gate, newcomer);
    } catch (error) {
      done(error as Error);
      return;
    }
    done(null, {
      predict: (order) => predict(model, visitor, order),
      leave: () => {
        visitor.tenant.leave();
      },
    });
  }
}

async function predict(model: ServedModel, visitor: Visitor, order: Order): Promise<Prediction> {
  const { image, info, threshold, cancellation } = order;
  const { deadline, isBackground } = visitor;
  const predictedMs = model.gate.predictMs(visitor);
  const received = performance.now();
  const { detections, timings, batch } = await model.predict(
    { image, info, threshold, deadline, isBackground, cancellation },
    { ...visitor, bytes: image.reduce((sum, piece) => sum + piece.length, 0) },
    () => {
      order.onAdmitted(performance.now() - received);
    },
  );
  return { detections, timings, batchSize: batch.size, predictedMs };
}
