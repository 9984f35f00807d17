import type { Consumer, CourierOptions, Delivery, DeliveryVerdict } from '../job-store.js';
import { Slots } from './slots.js';
import type { ThreadLink } from './thread-link.js';

/** What became of a delivery is not thrown away when it cannot be written; the disk may come back. */
const REWRITE_MS = 500;

/** Tells receivers how jobs have ended, and writes down what became of that. */
export class EmbeddedCourier implements Consumer {
  readonly #link: () => Pick<ThreadLink, 'ask'>;
  readonly #slots: Slots<Delivery>;
  readonly #onProblem: (error: unknown) => void;
  /** In work, or not written down yet: taken again, they would be sent again. */
  readonly #busy = new Set<string>();
  #isClosing = false;

  constructor(
    link: () => Pick<ThreadLink, 'ask'>,
    options: CourierOptions,
    onProblem: (error: unknown) => void,
  ) {
    this.#link = link;
    this.#onProblem = onProblem;
    this.#slots = new Slots(options.slots, {
      take: async (count) => {
        const { deliveries, nextAt } = await link().ask('takeDeliveries', count, [...this.#busy]);
        for (const { job } of deliveries) this.#busy.add(job.id);
        return { work: deliveries, nextAt };
      },
      run: async (delivery) => {
        await this.#write(delivery, await options.run(delivery));
        this.#busy.delete(delivery.job.id);
      },
      onProblem,
    });
  }

  get active(): number {
    return this.#slots.active;
  }

  get movedAt(): number {
    return this.#slots.movedAt;
  }

  wake(): void {
    this.#slots.wake();
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#slots.close();
  }

  async #write({ job: { id, finishedAt } }: Delivery, verdict: DeliveryVerdict): Promise<void> {
    const job = { id, ...(finishedAt !== undefined && { finishedAt }) };
    for (let isFirst = true; ; isFirst = false) {
      try {
        await this.#link().ask('settleDelivery', job, verdict);
        return;
      } catch (error) {
        if (isFirst) this.#onProblem(error);
        // Unwritten, it is sent once more after the next start: the receiver knows it by its id.
        if (this.#isClosing) return;
        await new Promise((resolve) => setTimeout(resolve, REWRITE_MS));
      }
    }
  }
}
