import type { Log } from '../../telemetry/log.js';
import type { JobPriority } from '../job.js';
import type { StoreLimits } from '../job-store.js';
import type { ClockGuard } from './clock-guard.js';
import { parseTicket } from './keys.js';
import type { Link } from './link.js';
import type { Tickets } from './tickets.js';
import { AUDIT_MS, SWEEP_EVERY_MS } from './timing.js';

export interface SweeperOptions {
  readonly link: Link;
  readonly tickets: Tickets;
  readonly limits: StoreLimits;
  readonly clock: ClockGuard;
  readonly log: Log;
}

type Gone = [queue: string, ticket: string];
type Missing = [queue: string, ticket: string, priority: JobPriority, notBefore: string];
type Swept = [gone: Gone[], missing: Missing[], undelivered: string[], more: number];

/** At most this many of each kind in one script; others wait while a script runs. */
const BATCH = 200;
const MOST_BATCHES = 20;

/** Does what time does: expiry, retention, and healing what a crash left half done. */
export class Sweeper {
  readonly #options: SweeperOptions;
  readonly #timer: NodeJS.Timeout;
  #sweeping: Promise<void> | undefined;

  constructor(options: SweeperOptions) {
    this.#options = options;
    this.#timer = setInterval(() => {
      this.#sweeping ??= this.#sweep().finally(() => (this.#sweeping = undefined));
    }, SWEEP_EVERY_MS);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sweeping;
  }

  async #sweep(): Promise<void> {
    const { link, clock, log } = this.#options;
    if (!link.isUp) return;
    try {
      if (!(await clock.check())) return;
      if (!(await this.#batch(SWEEP_EVERY_MS - 50))) return;
      for (let batch = 1; batch < MOST_BATCHES; batch++) if (!(await this.#batch(0))) return;
    } catch (error) {
      log.debug({ err: error }, 'a sweep of the job store failed');
    }
  }

  /** Whether there is more. Not when another process sweeps at the moment. */
  async #batch(claimMs: number): Promise<boolean> {
    const { link, tickets, limits } = this.#options;
    const now = Date.now();
    const { keepMs, keepCount } = limits;
    const swept = await link.ask('sweep', now, keepMs, keepCount, BATCH, AUDIT_MS, claimMs);
    if (swept === null) return false;
    const [gone, missing, undelivered, more] = swept as Swept;
    await Promise.all([
      ...gone.map(([queue, ticket]) => tickets.remove(queue, parseTicket(ticket))),
      ...missing.map(([queue, ticket, priority, notBefore]) =>
        tickets.add(queue, parseTicket(ticket), priority, Number(notBefore) - now),
      ),
      ...undelivered.map((ticket) => tickets.announce(parseTicket(ticket))),
    ]);
    return more === 1;
  }
}
