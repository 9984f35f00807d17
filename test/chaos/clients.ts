import type { JobView } from '../../src/jobs/job-view.js';
import type { Random } from '../../src/load/random.js';
import { type Answered, type Attempt, attempt, isRefusal, pause } from './http.js';
import type { Entry, Ledger } from './ledger.js';
import { type HttpRequest, planSubmission, requestOf } from './plan.js';

export interface ClientOptions {
  readonly ledger: Ledger;
  readonly random: Random;
  /** Whom to ask, each as good as the other. */
  readonly urls: readonly string[];
  readonly webhookUrl: string;
  readonly jobs: number;
  /** How many of them in a second, while somebody takes them. */
  readonly perSecond: number;
}

const SUBMITTERS = 8;
const READERS = 3;
const RETRY_MS = 50;

/** Clients that submit, read and cancel all the time and write down what they are told. */
export class Clients {
  readonly #options: ClientOptions;
  readonly #work = new Set<Promise<void>>();
  #next = 0;
  #isOver = false;
  /** How many may have been submitted by now. */
  allowed = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
    for (let at = 0; at < SUBMITTERS; at++) this.#track(this.#submitAll());
    for (let at = 0; at < READERS; at++) this.#track(this.#readAll());
  }

  /** Resolves when everything is submitted and nobody asks any more. */
  async finish(): Promise<void> {
    this.allowed = this.#options.jobs;
    while (this.#next < this.#options.jobs) await pause(RETRY_MS);
    this.#isOver = true;
    while (this.#work.size > 0) await Promise.all(this.#work);
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
  }

  async #submitAll(): Promise<void> {
    const { ledger, random, jobs, perSecond, webhookUrl } = this.#options;
    while (this.#next < jobs) {
      // Spread over time, so that whenever somebody is killed there is somebody who submits.
      await pause((random() * 2 * 1000 * SUBMITTERS) / perSecond);
      if (this.#next >= this.allowed) continue;
      const entry = ledger.open(planSubmission(this.#next++, random));
      const { isSentAgain, cancelAfterMs } = entry.submission;
      const request = await requestOf(entry.submission, webhookUrl);
      await this.#submit(entry, request);
      if (isSentAgain) this.#track(this.#sendAgain(entry, request));
      if (cancelAfterMs !== undefined) this.#track(this.#cancel(entry, cancelAfterMs));
    }
  }

  async #submit(entry: Entry, request: HttpRequest): Promise<void> {
    const { ledger } = this.#options;
    const { key, n } = entry.submission;
    for (;;) {
      const outcome = await this.#send(request);
      const isAnswered = outcome.kind === 'answered' && !isRefusal(outcome.status);
      if (isAnswered) {
        if (outcome.status === 202 || (outcome.status === 200 && entry.isUncertain)) {
          ledger.accepted(entry, outcome.body as JobView, outcome.askedAt);
        } else {
          ledger.violate(`submission ${String(n)} was answered with ${JSON.stringify(outcome)}`);
        }
        return;
      }
      // A store that is gone may have heard it before.
      if (outcome.kind !== 'nobody') entry.isUncertain = true;
      if (entry.isUncertain && key === undefined) return;
      await pause(RETRY_MS);
    }
  }

  async #sendAgain(entry: Entry, request: HttpRequest): Promise<void> {
    const { ledger, random } = this.#options;
    await pause(random() * 2000);
    const { status, body, askedAt } = await this.#insist(() => this.#send(request));
    ledger.resent++;
    if (status === 200) ledger.accepted(entry, body as JobView, askedAt);
    else ledger.violate(`the same key again was answered with ${String(status)}`);
  }

  async #cancel(entry: Entry, afterMs: number): Promise<void> {
    const [id] = entry.ids;
    if (id === undefined) return;
    await pause(afterMs);
    entry.isCancelAsked = true;
    const answer = await this.#insist(() =>
      attempt(this.#url(`/jobs/${id}`), { method: 'DELETE' }),
    );
    this.#shown(entry, id, answer);
    const { state } = answer.body as JobView;
    if (answer.status === 200 && (state === 'queued' || state === 'running')) {
      this.#options.ledger.violate(`${id} was cancelled and is ${state}`);
    }
  }

  async #readAll(): Promise<void> {
    const { ledger, random } = this.#options;
    while (!this.#isOver) {
      await pause(10);
      const entry = ledger.entries.get(Math.floor(random() * this.#next));
      const [id] = entry?.ids ?? [];
      if (entry === undefined || id === undefined) continue;
      const wait = random() < 0.2 ? '?wait=1' : '';
      const answer = await attempt(this.#url(`/jobs/${id}${wait}`));
      if (answer.kind === 'answered' && !isRefusal(answer.status)) this.#shown(entry, id, answer);
    }
  }

  #shown(entry: Entry, id: string, { status, body, askedAt }: Answered): void {
    const { ledger } = this.#options;
    if (status === 200) ledger.observe(body as JobView, askedAt);
    else if (status === 404) ledger.missing(entry, id);
    else ledger.violate(`${id} was asked for and answered with ${String(status)}`);
  }

  async #insist(what: () => Promise<Attempt>): Promise<Answered> {
    for (;;) {
      const outcome = await what();
      if (outcome.kind === 'answered' && !isRefusal(outcome.status)) return outcome;
      await pause(RETRY_MS);
    }
  }

  #send({ path, headers, body }: HttpRequest): Promise<Attempt> {
    return attempt(this.#url(path), { method: 'POST', headers, body: body as unknown as string });
  }

  #url(path: string): string {
    const { urls, random } = this.#options;
    return `${urls[Math.floor(random() * urls.length)] ?? ''}${path}`;
  }
}
