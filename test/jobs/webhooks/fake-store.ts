import type {
  Consumer,
  CourierOptions,
  Delivery,
  DeliveryVerdict,
} from '../../../src/jobs/job-store.js';
import { job } from './parcels.js';

/** Hands out deliveries one by one, as told, and keeps to the contract otherwise. */
export class FakeStore {
  readonly #inWork = new Set<Promise<DeliveryVerdict>>();
  options: CourierOptions | undefined;
  isClosed = false;

  deliver(options: CourierOptions): Consumer {
    this.options = options;
    const inWork = this.#inWork;
    return {
      get active() {
        return inWork.size;
      },
      movedAt: 7,
      close: async () => {
        this.isClosed = true;
        await Promise.all(inWork);
      },
    };
  }

  async give(webhookUrl: string, changes: Partial<Delivery> = {}): Promise<DeliveryVerdict> {
    const delivery = { job: job(), attempt: 1, webhookUrl, ...changes };
    const run = this.options?.run(delivery) ?? Promise.reject(new Error('nobody delivers'));
    this.#inWork.add(run);
    try {
      return await run;
    } finally {
      this.#inWork.delete(run);
    }
  }
}
