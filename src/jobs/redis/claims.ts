import { randomBytes } from 'node:crypto';
import { Cancellation } from '../../cancellation.js';
import { ShoalError } from '../../errors.js';
import { failpoint } from '../failpoint.js';
import type { JobProblem, JobRecord } from '../job.js';
import { type Claim, type ConsumerOptions, MAX_LOSSES, type Verdict } from '../job-store.js';
import type { Outcome } from './bull.js';
import type { Ticket } from './keys.js';
import type { Link } from './link.js';
import { parseRecord } from './record.js';

export interface ClaimsOptions {
  /** Waits for Redis as long as it takes. */
  readonly work: Link;
  readonly keepMs: number;
  readonly leaseMs: number;
  fetchImage(job: JobRecord, at: number, cancellation: Cancellation): Promise<Uint8Array>;
  /** Its receiver is to be told. */
  announce(ticket: Ticket): void;
}

interface Held {
  readonly id: string;
  readonly cancellation: Cancellation;
}

const LOST: JobProblem = {
  code: 'worker_lost',
  detail: 'Whoever ran this job has disappeared too often; it may be the reason.',
};
/** Readers do not need more. */
const PROGRESS_EVERY_MS = 100;

/** Jobs that are this process's to run, each with a token that only its last owner has. */
export class Claims {
  readonly #options: ClaimsOptions;
  readonly #held = new Map<string, Held>();
  readonly #checks: NodeJS.Timeout;
  #isChecking = false;
  #busy = 0;

  constructor(options: ClaimsOptions) {
    this.#options = options;
    const everyMs = Math.min(5000, Math.max(200, options.leaseMs / 4));
    this.#checks = setInterval(() => void this.#check([...this.#held.keys()]), everyMs);
  }

  /** How many are being computed. */
  get busy(): number {
    return this.#busy;
  }

  close(): void {
    clearInterval(this.#checks);
  }

  /** Something has happened to this job. */
  hint(id: string): void {
    const tokens = [...this.#held].filter(([, held]) => held.id === id).map(([token]) => token);
    if (tokens.length > 0) void this.#check(tokens);
  }

  async run(ticket: Ticket, run: ConsumerOptions['run']): Promise<Outcome> {
    const { work, keepMs } = this.#options;
    const token = randomBytes(12).toString('base64url');
    const now = Date.now();
    const [answer, value] = (await work.insist(
      'start',
      ticket.id,
      ticket.number,
      token,
      now,
      keepMs,
      MAX_LOSSES,
      JSON.stringify(LOST),
    )) as [string, unknown];
    if (answer === 'early') return { kind: 'later', at: Number(value) };
    if (answer !== 'run') return { kind: 'done' };
    const job = parseRecord(value as string[]);
    const cancellation = new Cancellation();
    this.#held.set(token, { id: job.id, cancellation });
    try {
      const verdict = await this.#verdict(job, token, cancellation, run);
      if (cancellation.reason !== undefined) return { kind: 'done' };
      return await this.#settle(ticket, token, verdict);
    } finally {
      this.#held.delete(token);
    }
  }

  async #verdict(
    job: JobRecord,
    token: string,
    cancellation: Cancellation,
    run: ConsumerOptions['run'],
  ): Promise<Verdict> {
    const claim: Claim = {
      job,
      image: (at) => this.#options.fetchImage(job, at, cancellation),
      cancellation,
      progress: this.#progress(job.id, token),
    };
    this.#busy++;
    try {
      return await run(claim);
    } finally {
      this.#busy--;
    }
  }

  /** Writes what came of it, unless the claim was lost. */
  async #settle({ id, number }: Ticket, token: string, verdict: Verdict): Promise<Outcome> {
    const { work, keepMs } = this.#options;
    const now = Date.now();
    if (verdict.kind === 'released') {
      const isKept = (await work.insist('requeue', id, token, '', 0, 0)) === 'ok';
      return isKept ? { kind: 'back' } : { kind: 'done' };
    }
    if (verdict.kind === 'retry') {
      const at = now + Math.max(0, Math.ceil(verdict.delayMs));
      const problem = JSON.stringify(verdict.problem);
      const answer = await work.insist('requeue', id, token, problem, at, verdict.isBlamed ? 1 : 0);
      return answer === 'ok' ? { kind: 'later', at } : { kind: 'done' };
    }
    const problem = verdict.kind === 'failed' ? JSON.stringify(verdict.problem) : '';
    const results = verdict.results === undefined ? '' : JSON.stringify(verdict.results);
    const [answer, record] = (await work.insist(
      'settle',
      id,
      token,
      now,
      keepMs,
      verdict.kind,
      problem,
      results,
    )) as [string, string[]];
    failpoint('verdict.durable');
    if (answer === 'ok' && parseRecord(record).webhook !== undefined) {
      this.#options.announce({ id, number });
    }
    return { kind: 'done' };
  }

  #progress(id: string, token: string): Claim['progress'] {
    let latest = 0;
    let timer: NodeJS.Timeout | undefined;
    let sentAt = -Infinity;
    const send = (): void => {
      timer = undefined;
      sentAt = performance.now();
      const { work } = this.#options;
      // Nothing to wait for Redis with: the next one says more.
      if (work.isUp && this.#held.has(token)) {
        work.run('progress', id, token, latest).catch(() => undefined);
      }
    };
    return (done) => {
      latest = done;
      timer ??= setTimeout(send, Math.max(0, PROGRESS_EVERY_MS - (performance.now() - sentAt)));
    };
  }

  async #check(tokens: readonly string[]): Promise<void> {
    const { work } = this.#options;
    if (tokens.length === 0 || !work.isUp || (this.#isChecking && tokens.length > 1)) return;
    this.#isChecking = true;
    try {
      const pairs = tokens.flatMap((token) => [this.#held.get(token)?.id ?? '', token]);
      for (const token of (await work.run('check', ...pairs)) as string[]) {
        this.#held
          .get(token)
          ?.cancellation.cancel(
            new ShoalError(
              'job_conflict',
              'The job was cancelled, has expired, or was given to somebody else.',
            ),
          );
      }
    } catch {
      // The next check comes soon.
    } finally {
      this.#isChecking = false;
    }
  }
}
