import type { CourierOptions, DeliveryVerdict } from '../job-store.js';
import type { Outcome } from './bull.js';
import type { Ticket } from './keys.js';
import type { Link } from './link.js';
import { parseRecord, withResults } from './record.js';

/** Tells receivers how jobs have ended. */
export class Courier {
  readonly #work: Link;
  readonly #options: CourierOptions;
  #busy = 0;

  constructor(work: Link, options: CourierOptions) {
    this.#work = work;
    this.#options = options;
  }

  get busy(): number {
    return this.#busy;
  }

  async run(ticket: Ticket): Promise<Outcome> {
    const found = (await this.#work.insist('delivery', ticket.id, ticket.number)) as
      [string[], string | null] | null;
    if (found === null) return { kind: 'done' };
    const job = withResults(parseRecord(found[0]), found[1]);
    const { webhookUrl, webhook } = job;
    if (webhookUrl === undefined || webhook === undefined) return { kind: 'done' };
    const attempt = webhook.attempts + 1;
    this.#busy++;
    let verdict: DeliveryVerdict;
    try {
      verdict = await this.#options.run({ job, webhookUrl, attempt });
    } finally {
      this.#busy--;
    }
    if (verdict.kind === 'released') return { kind: 'back' };
    // Only put off: there is nothing that a reader could see.
    if (verdict.kind === 'retry' && !verdict.isCounted) return later(verdict.delayMs);
    const state = { delivered: 'delivered', abandoned: 'failed', retry: 'pending' }[verdict.kind];
    const reason = verdict.kind === 'delivered' ? '' : verdict.reason;
    const { id, number } = ticket;
    await this.#work.insist('delivered', id, number, attempt, Date.now(), state, reason);
    return verdict.kind === 'retry' ? later(verdict.delayMs) : { kind: 'done' };
  }
}

function later(delayMs: number): Outcome {
  return { kind: 'later', at: Date.now() + Math.max(0, Math.ceil(delayMs)) };
}
