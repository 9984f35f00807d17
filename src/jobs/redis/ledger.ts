import { ShoalError } from '../../errors.js';
import { failpoint } from '../failpoint.js';
import { type FinalState, JOB_STATES, type JobRecord, type JobState } from '../job.js';
import type {
  JobPage,
  JobQuery,
  NewJob,
  StoreLimits,
  StoreStats,
  Submission,
} from '../job-store.js';
import { tooLargeForStore } from '../store-errors.js';
import { cursorAfter, parseCursor } from './cursor.js';
import { isOutOfMemory, storeFull, unavailable } from './faults.js';
import type { Images } from './images.js';
import { keys, ownerKey, queueOf, type Ticket } from './keys.js';
import type { Link } from './link.js';
import type { MemoryGauge } from './memory-gauge.js';
import { newFields, parseRecord, RECORD_BYTES, toFields, withResults } from './record.js';
import type { Tickets } from './tickets.js';

export interface LedgerOptions {
  readonly link: Link;
  readonly images: Images;
  readonly tickets: Tickets;
  readonly gauge: MemoryGauge;
  readonly prefix: string;
  readonly limits: StoreLimits;
}

/** Images stay this much longer than they could be needed, in case nobody sweeps for a while. */
const SPARE_MS = 86_400_000;
/** Before more than this is sent, we ask whether there is room. */
const PROBE_BYTES = 1_000_000;
const PURGE_BATCH = 200;

/** What those who hand jobs in and ask about them can do. Answers or fails within a second. */
export class Ledger {
  readonly #options: LedgerOptions;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  async submit(job: NewJob): Promise<Submission> {
    const { link, gauge, limits } = this.#options;
    const bytes = job.imageBytes + RECORD_BYTES;
    if (bytes > limits.maxBytes) throw tooLargeForStore();
    if (bytes > PROBE_BYTES) {
      const answer = await link.ask('probe', limits.maxOpenJobs, gauge.limit, bytes);
      // A key that was used before is good for an answer even when there is no room.
      if (job.idempotencyKey === undefined) refuse(answer as string);
    }
    try {
      return await this.#write(job, bytes);
    } catch (error) {
      if (!isOutOfMemory(error) || !(await this.#makeRoom(bytes))) throw error;
      return this.#write(job, bytes);
    }
  }

  async #write(job: NewJob, bytes: number): Promise<Submission> {
    const { link, images, tickets, gauge, prefix, limits } = this.#options;
    const stored = images.put(job);
    // Without memory for images, there may still be an answer for a key that was used before.
    const tolerated = stored.catch((error: unknown) => {
      if (!isOutOfMemory(error)) throw error;
    });
    if (!images.isSmall(job.imageBytes)) await tolerated;
    const { idempotencyKey } = job;
    const [reply] = await Promise.all([
      link.ask(
        'submit',
        job.id,
        Date.now(),
        idempotencyKey === undefined ? '' : keys.idempotency(prefix, job.owner, idempotencyKey),
        job.fingerprint,
        limits.maxOpenJobs,
        gauge.limit,
        bytes,
        this.#imageTtl(job.expiresAt),
        ...newFields(job),
      ),
      tolerated,
    ]);
    const [answer, ...found] = reply as [string, ...Found];
    if (answer === 'no_images') await stored;
    refuse(answer);
    failpoint('submit.written');
    const isNew = answer === 'new';
    if (isNew) await tickets.add(queueOf(job.model), { id: job.id, number: '0' }, job.priority);
    failpoint('submit.durable');
    return { record: toRecord(found), isNew };
  }

  /** Redis is full although our own count says otherwise. Whether finished jobs have gone for it. */
  async #makeRoom(bytes: number): Promise<boolean> {
    const { link, gauge } = this.#options;
    await gauge.refresh();
    return ((await link.ask('makeRoom', gauge.limit, bytes)) as number) > 0;
  }

  async get(id: string): Promise<JobRecord | undefined> {
    const found = (await this.#options.link.ask('read', id)) as Found | null;
    return found === null ? undefined : toRecord(found);
  }

  async list({ owner, state, limit, cursor }: JobQuery): Promise<JobPage> {
    const { createdAt, id } = cursor === undefined ? NO_CURSOR : parseCursor(cursor);
    const [page, more] = (await this.#options.link.ask(
      'list',
      ownerKey(owner),
      state ?? 'all',
      limit,
      createdAt,
      id,
    )) as [string[][], number];
    const jobs = page.filter((flat) => flat.length > 0).map(parseRecord);
    const last = jobs.at(-1);
    return { jobs, ...(more === 1 && last !== undefined && { cursor: cursorAfter(last) }) };
  }

  async cancel(id: string): Promise<JobRecord | undefined> {
    const { link, tickets, limits } = this.#options;
    const answer = await link.ask('cancel', id, Date.now(), limits.keepMs);
    if (answer === null) return undefined;
    const [isChanged, flat] = answer as [number, string[]];
    if (isChanged === 0) return this.get(id);
    const record = parseRecord(flat);
    const ticket = ticketOf(flat);
    if (record.webhook !== undefined) await tickets.announce(ticket);
    // Nobody has to wait for that: whoever takes it sees that it is over.
    void tickets.remove(queueOf(record.model), ticket);
    return record;
  }

  async retry(id: string, expiresAt: number): Promise<JobRecord | undefined> {
    const { link, tickets, limits } = this.#options;
    const ttl = this.#imageTtl(expiresAt);
    const answer = await link.ask('reopen', id, Date.now(), expiresAt, ttl, limits.maxOpenJobs);
    const [code, flat] = answer as [string, string[]];
    if (code === 'missing') return undefined;
    refuse(code);
    const record = parseRecord(flat);
    await tickets.add(queueOf(record.model), ticketOf(flat), record.priority);
    return record;
  }

  async purge(owner: string, states: readonly FinalState[]): Promise<number> {
    const { link } = this.#options;
    let total = 0;
    for (const state of states) {
      let removed: number;
      do {
        removed = (await link.ask('purge', ownerKey(owner), state, PURGE_BATCH)) as number;
        total += removed;
      } while (removed === PURGE_BATCH);
    }
    return total;
  }

  async stats(): Promise<StoreStats> {
    const [flat, waiting, webhooksPending] = (await this.#options.link.ask('stats')) as [
      string[],
      [model: string, count: number, since: string][],
      number,
    ];
    const counts = toFields(flat);
    const jobs = Object.fromEntries(
      JOB_STATES.map((state) => [state, Number(counts[state] ?? 0)]),
    ) as Record<JobState, number>;
    return {
      jobs,
      waiting: Object.fromEntries(
        waiting.map(([model, count, since]) => [model, { count, since: Number(since) }]),
      ),
      webhooksPending,
      bytes: Number(counts['bytes'] ?? 0),
    };
  }

  #imageTtl(expiresAt: number): number {
    const openMs = Math.max(0, Math.ceil(expiresAt - Date.now()));
    return openMs + this.#options.limits.keepMs + SPARE_MS;
  }
}

type Found = [fields: string[], results: string | null, position: number];

function toRecord([flat, results, position]: Found): JobRecord {
  const record = withResults(parseRecord(flat), results);
  return position < 0 ? record : { ...record, position };
}

const NO_CURSOR = { createdAt: '', id: '' };

function ticketOf(flat: readonly string[]): Ticket {
  const { id = '', ticket = '' } = toFields(flat);
  return { id, number: ticket };
}

/** What the scripts say when they do not do it. */
function refuse(answer: string): void {
  switch (answer) {
    case 'queue_full':
      throw new ShoalError('queue_full', 'There are as many open jobs as there may be.', {
        retryAfterSeconds: 5,
      });
    case 'store_full':
      throw storeFull();
    case 'conflict':
      throw new ShoalError(
        'job_conflict',
        'Only a failed, cancelled or expired job can be retried.',
      );
    case 'used':
      throw new ShoalError(
        'idempotency_conflict',
        'This idempotency key was used for another job; use a new one.',
      );
    case 'no_images':
      throw unavailable();
  }
}
