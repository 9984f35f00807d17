import { Cancellation } from '../../cancellation.js';
import { ShoalError } from '../../errors.js';
import type { Claim, ConsumerOptions, JobConsumer, Verdict } from '../job-store.js';
import type { Hold, TakenJob } from './claims.js';
import type { Change } from './job-table.js';
import { Slots } from './slots.js';
import type { ThreadLink } from './thread-link.js';

/** Progress that comes faster than this is left out. */
const PROGRESS_MS = 200;
/** A verdict that cannot be written is not thrown away; the disk may come back. */
const REWRITE_MS = 500;

/** Runs the jobs of one model: takes them, keeps them, writes down what became of them. */
export class EmbeddedConsumer implements JobConsumer {
  readonly #link: () => ThreadLink;
  readonly #options: ConsumerOptions;
  readonly #slots: Slots<TakenJob>;
  readonly #held = new Map<string, { readonly hold: Hold; readonly cancellation: Cancellation }>();
  readonly #renewal: NodeJS.Timeout;
  #isClosing = false;

  constructor(
    link: () => ThreadLink,
    options: ConsumerOptions,
    leaseMs: number,
    onProblem: (error: unknown) => void,
  ) {
    this.#link = link;
    this.#options = options;
    this.#slots = new Slots(options.slots, {
      take: async (count) => {
        const { jobs, nextAt } = await link().ask('take', options.model, count);
        return { work: jobs, nextAt };
      },
      run: (taken) => this.#run(taken),
      onProblem,
    });
    this.#renewal = setInterval(() => {
      const holds = [...this.#held.values()].map(({ hold }) => hold);
      if (holds.length > 0) link().ask('renew', holds).catch(onProblem);
    }, leaseMs / 3);
  }

  get active(): number {
    return this.#slots.active;
  }

  get movedAt(): number {
    return this.#slots.movedAt;
  }

  /** Something has happened to a job of this store. */
  noteChange({ id, model, state, token }: Change): void {
    if (model === this.#options.model && state === 'queued') this.#slots.wake();
    const held = this.#held.get(id);
    if (held === undefined || (state === 'running' && token === held.hold.token)) return;
    held.cancellation.cancel(new Error(`the job is ${state}`));
  }

  wake(): void {
    this.#slots.wake();
  }

  hold(isHeld: boolean): void {
    this.#slots.hold(isHeld);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#slots.close();
    clearInterval(this.#renewal);
  }

  async #run({ job, token }: TakenJob): Promise<void> {
    const hold = { id: job.id, token };
    const cancellation = new Cancellation();
    this.#held.set(job.id, { hold, cancellation });
    let reportedAt = 0;
    const claim: Claim = {
      job,
      image: async (at) => {
        const bytes = await this.#link().ask('image', job.id, at);
        // It went with the job, which somebody has removed.
        if (bytes === undefined)
          throw new ShoalError('job_not_found', 'The images of this job are gone.');
        return bytes;
      },
      cancellation,
      progress: (done) => {
        const now = performance.now();
        if (now - reportedAt < PROGRESS_MS) return;
        reportedAt = now;
        // The next one says the same and more.
        this.#link()
          .ask('progress', hold, done)
          .catch(() => undefined);
      },
    };
    try {
      const verdict = await this.#options.run(claim);
      if (cancellation.reason === undefined) await this.#write(hold, verdict, cancellation);
    } finally {
      this.#held.delete(job.id);
    }
  }

  async #write(hold: Hold, verdict: Verdict, cancellation: Cancellation): Promise<void> {
    for (;;) {
      try {
        await this.#link().ask('settle', hold, verdict);
        return;
      } catch {
        // Unwritten, it is run once more, after its lease or the next start.
        if (this.#isClosing) return;
        await new Promise((resolve) => setTimeout(resolve, REWRITE_MS));
        if (cancellation.reason !== undefined) return;
      }
    }
  }
}
