import type { FinalState, JobState } from '../../jobs/job.js';
import type { JobView } from '../../jobs/job-view.js';
import { Refusal, Silence } from './failures.js';
import { parseRetryAfter } from './retry.js';

export interface Connection {
  readonly url: URL;
  readonly apiKey: string | undefined;
  /** For one request, besides what the server was asked to wait. */
  readonly timeoutMs: number;
}

export interface JobForm {
  /** Besides the images, as form fields. */
  readonly fields: Readonly<Record<string, string>>;
  readonly images: readonly Buffer[];
  readonly idempotencyKey: string;
}

export interface ListQuery {
  readonly state?: JobState | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

interface Request {
  readonly method?: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: FormData;
  readonly waitMs?: number;
}

/** The routes of jobs, each as one request. Rejects with a `Refusal` or a `Silence`. */
export class JobsClient {
  readonly #connection: Connection;
  readonly #signal: AbortSignal;

  constructor(connection: Connection, signal: AbortSignal) {
    this.#connection = connection;
    this.#signal = signal;
  }

  /** A form, because a `webhook_url` in a query would be in the logs of every proxy. */
  async submit({ fields, images, idempotencyKey }: JobForm): Promise<JobView> {
    const body = new FormData();
    for (const [name, value] of Object.entries(fields)) body.append(name, value);
    for (const image of images) body.append('image', new Blob([image]));
    const headers = { 'idempotency-key': idempotencyKey };
    return this.#job(await this.#ask('jobs', { method: 'POST', headers, body }));
  }

  /** @param waitSeconds how long the server may wait for the end of the job */
  async get(id: string, waitSeconds = 0): Promise<JobView> {
    const query = waitSeconds > 0 ? { wait: String(waitSeconds) } : {};
    return this.#job(await this.#ask(`jobs/${id}`, { query, waitMs: waitSeconds * 1000 }));
  }

  async list(query: ListQuery): Promise<{ jobs: readonly JobView[]; cursor?: string }> {
    const { state, limit, cursor } = query;
    const page = (await this.#ask('jobs', {
      query: { state, limit: String(limit), cursor },
    })) as { jobs: readonly JobView[]; cursor?: string } | null;
    if (!Array.isArray(page?.jobs)) throw this.#stranger();
    return page;
  }

  async cancel(id: string): Promise<JobView> {
    return this.#job(await this.#ask(`jobs/${id}`, { method: 'DELETE' }));
  }

  async retry(id: string): Promise<JobView> {
    return this.#job(await this.#ask(`jobs/${id}/retry`, { method: 'POST' }));
  }

  async purge(states: readonly FinalState[]): Promise<number> {
    const query = { state: states.join(',') };
    const answer = (await this.#ask('jobs', { method: 'DELETE', query })) as { removed: number };
    return answer.removed;
  }

  async #ask(path: string, request: Request): Promise<unknown> {
    const { url, apiKey, timeoutMs } = this.#connection;
    const { method = 'GET', query = {}, headers = {}, body, waitMs = 0 } = request;
    const target = new URL(url);
    target.pathname = `${url.pathname.replace(/\/+$/, '')}/${path}`;
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) target.searchParams.set(name, value);
    }
    const init = {
      method,
      headers: { ...headers, ...(apiKey !== undefined && { 'x-api-key': apiKey }) },
      // The key is for this server and not for where it points to.
      redirect: 'manual' as const,
      ...(body !== undefined && { body }),
    };
    const { answer, text } = await this.#within(timeoutMs + waitMs, async (signal) => {
      const answer = await fetch(target, { ...init, signal });
      return { answer, text: await answer.text() };
    });
    const retryAfterMs = parseRetryAfter(answer.headers.get('retry-after'), Date.now());
    if (!answer.ok) throw new Refusal(answer.status, text, retryAfterMs);
    try {
      return JSON.parse(text) as unknown;
    } catch {
      throw this.#stranger();
    }
  }

  #job(value: unknown): JobView {
    const job = value as Partial<JobView> | null;
    if (typeof job?.id !== 'string' || typeof job.state !== 'string') throw this.#stranger();
    return job as JobView;
  }

  #stranger(): Error {
    return new Error(`what answers at ${this.#connection.url.origin} is not a Shoal server`);
  }

  /** By hand: `AbortSignal.any` keeps what it made for as long as the longest of its sources. */
  async #within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#signal.throwIfAborted();
    const stop = new AbortController();
    const interrupt = (): void => {
      stop.abort(this.#signal.reason);
    };
    this.#signal.addEventListener('abort', interrupt);
    const timer = setTimeout(() => {
      stop.abort(new Error(`nothing within ${String(ms / 1000)} s`));
    }, ms);
    try {
      return await work(stop.signal);
    } catch (error) {
      this.#signal.throwIfAborted();
      throw new Silence(this.#connection.url, error);
    } finally {
      clearTimeout(timer);
      this.#signal.removeEventListener('abort', interrupt);
    }
  }
}
