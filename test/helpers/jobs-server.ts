import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type ErrorCode, toProblem } from '../../src/errors.js';
import { type FinalState, isFinal, type JobState, newJobId } from '../../src/jobs/job.js';
import type { JobView, ResultView } from '../../src/jobs/job-view.js';

/** What goes wrong with a request. `lost`: it is carried out, but the answer does not arrive. */
export type Fault =
  'dropped' | 'lost' | { readonly code: ErrorCode; readonly retryAfter?: number | string };

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** Of a form. */
  readonly fields: Readonly<Record<string, string>>;
  readonly images: readonly string[];
}

interface FakeJob {
  view: JobView;
  readonly images: readonly string[];
}

const START = Date.parse('2026-11-15T12:00:00Z');

/**
 * Keeps the contract of docs/jobs.md, without models. Images are text: "bad" is refused, "failing"
 * fails, "odd" has a problem of its own, "slow" stays queued until it is finished by hand.
 */
export class JobsServer {
  readonly requests: SeenRequest[] = [];
  /** Newest last. */
  readonly jobs = new Map<string, FakeJob>();
  /** The next requests of a kind, such as `POST /jobs`, meet these. */
  readonly faults: Record<string, Fault[]> = {};
  apiKey: string | undefined;
  maxJobImages = 100;
  /** Whether long polls wait; otherwise they are answered at once. */
  isPatient = true;
  onRequest: (request: SeenRequest) => void = () => undefined;
  readonly #keys = new Map<string, { id: string; fingerprint: string }>();
  #waiting: (() => void)[] = [];
  #server: Server = createServer();
  #port = 0;

  static async start(): Promise<JobsServer> {
    const server = new JobsServer();
    await server.listen();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${String(this.#port)}`;
  }

  /** Again at the same address, as after a restart. */
  async listen(): Promise<void> {
    this.#server = createServer((request, response) => {
      void this.#answer(request, response);
    });
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
    this.#wake();
  }

  /** In the order they came. */
  views(): JobView[] {
    return [...this.jobs.values()].map(({ view }) => view);
  }

  requestsOf(kind: string): SeenRequest[] {
    return this.requests.filter(({ method, path }) => `${method} ${path}` === kind);
  }

  add(images: readonly string[], state: JobState = 'queued'): JobView {
    const id = newJobId();
    const createdAt = START + this.jobs.size * 1000;
    const view: JobView = {
      id,
      state,
      model: 'one',
      priority: 'normal',
      confidence_threshold: 0.5,
      progress: { done: state === 'completed' ? images.length : 0, total: images.length },
      tries: 0,
      created_at: new Date(createdAt).toISOString(),
      expires_at: new Date(createdAt + 86_400_000).toISOString(),
      timings: { queued_ms: 5 },
    };
    this.jobs.set(id, { view, images });
    return view;
  }

  finish(id: string, state: FinalState): void {
    const job = this.jobs.get(id);
    if (job === undefined) return;
    const total = job.images.length;
    const at = new Date(START + 60_000).toISOString();
    const done = state === 'completed' ? total : 0;
    job.view = {
      ...job.view,
      state,
      progress: { done, total },
      started_at: at,
      finished_at: at,
      timings: { queued_ms: 5, running_ms: 1500 },
      ...(state === 'completed' && { results: job.images.map(resultOf) }),
      ...(state === 'failed' && { problem: toProblem('model_failed', 'It did not work.') }),
    };
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', this.url);
    const seen = await readRequest(request, url.pathname);
    this.requests.push(seen);
    this.onRequest(seen);
    const kind = `${seen.method} ${url.pathname.replace(/job_[\w-]+/, '{id}')}`;
    const fault = this.faults[kind]?.shift();
    if (fault === 'dropped') {
      response.destroy();
      return;
    }
    if (typeof fault === 'object') {
      const { code, retryAfter } = fault;
      const problem = toProblem(code, `A fault: ${code}.`);
      if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter);
      send(response, problem.status, problem);
      return;
    }
    const [status, body] = await this.#handle(seen, kind, url.searchParams);
    if (fault === 'lost') response.destroy();
    else send(response, status, body);
  }

  async #handle(
    seen: SeenRequest,
    kind: string,
    query: URLSearchParams,
  ): Promise<[status: number, body: unknown]> {
    if (this.apiKey !== undefined && seen.headers['x-api-key'] !== this.apiKey) {
      return refuse('unauthorized', 'This API key is not known.');
    }
    if (kind === 'POST /jobs') return this.#submit(seen);
    if (kind === 'GET /jobs') return [200, this.#list(query)];
    if (kind === 'DELETE /jobs') return [200, { removed: this.#purge(query.get('state') ?? '') }];
    const id = seen.path.split('/')[2] ?? '';
    if (!this.jobs.has(id)) return refuse('job_not_found', 'There is no such job.');
    if (kind === 'GET /jobs/{id}') return this.#read(id, Number(query.get('wait')));
    if (kind === 'DELETE /jobs/{id}') {
      if (!isFinal(this.#view(id).state)) this.finish(id, 'cancelled');
      return [200, this.#view(id)];
    }
    if (kind !== 'POST /jobs/{id}/retry') return refuse('not_found', 'There is no such route.');
    if (!['failed', 'cancelled', 'expired'].includes(this.#view(id).state)) {
      return refuse('job_conflict', 'The job has not failed.');
    }
    const job = this.jobs.get(id) as FakeJob;
    job.view = { ...job.view, state: 'queued' };
    return [200, job.view];
  }

  #submit({ fields, images, headers }: SeenRequest): [number, unknown] {
    if (fields['model'] === 'none') return refuse('model_not_found', 'There is no model "none".');
    if (images.includes('bad')) {
      return refuse('unsupported_image_format', 'The bytes are not JPEG, PNG or WebP.');
    }
    if (images.length > this.maxJobImages) return refuse('invalid_request', 'Too many images.');
    const key = String(headers['idempotency-key']);
    const said = JSON.stringify([fields, images]);
    const fingerprint = createHash('sha256').update(said).digest('hex');
    const known = this.#keys.get(key);
    if (known !== undefined) {
      return known.fingerprint === fingerprint
        ? [200, this.#view(known.id)]
        : refuse('idempotency_conflict', 'The key was used for another job.');
    }
    const { id } = this.add(images);
    this.#keys.set(key, { id, fingerprint });
    if (!images.includes('slow')) {
      this.finish(id, images.includes('failing') ? 'failed' : 'completed');
    }
    return [202, { ...this.#view(id), state: 'queued' }];
  }

  async #read(id: string, wait: number): Promise<[number, unknown]> {
    while (this.isPatient && wait > 0 && !isFinal(this.#view(id).state)) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      if (!this.#server.listening) break;
    }
    return [200, this.#view(id)];
  }

  #view(id: string): JobView {
    return (this.jobs.get(id) as FakeJob).view;
  }

  #list(query: URLSearchParams): { jobs: JobView[]; cursor?: string } {
    const state = query.get('state');
    const [limit, from] = [Number(query.get('limit') ?? 20), Number(query.get('cursor') ?? 0)];
    const all = this.views()
      .reverse()
      .filter((view) => state === null || view.state === state);
    const jobs = all.slice(from, from + limit).map(withoutResults);
    return { jobs, ...(from + limit < all.length && { cursor: String(from + limit) }) };
  }

  #purge(states: string): number {
    const gone = this.views().filter(({ state }) => states.split(',').includes(state));
    for (const { id } of gone) this.jobs.delete(id);
    return gone.length;
  }
}

/** Images are text here, so the parts of a form can be told by splitting it. */
async function readRequest(request: IncomingMessage, path: string): Promise<SeenRequest> {
  const { method = '', headers } = request;
  const body = await text(request);
  const boundary = /boundary=(.+)$/.exec(headers['content-type'] ?? '')?.[1];
  const parts = boundary === undefined ? [] : body.split(`--${boundary}`).slice(1, -1);
  const named = parts.map((part) => {
    const [head = '', value = ''] = part.split('\r\n\r\n');
    return [/name="(\w+)"/.exec(head)?.[1] ?? '', value.replace(/\r\n$/, '')] as const;
  });
  return {
    method,
    path,
    headers,
    fields: Object.fromEntries(named.filter(([name]) => name !== 'image')),
    images: named.filter(([name]) => name === 'image').map(([, value]) => value),
  };
}

function resultOf(image: string): ResultView {
  if (image === 'odd') return { problem: toProblem('invalid_image', 'The image is damaged.') };
  const detection = { label: image, confidence: 0.9, bbox: [1, 2, 3, 4] as const };
  return { detections: [detection], inference_ms: 7 };
}

function withoutResults(view: JobView): JobView {
  const { results, ...rest } = view;
  return results === undefined ? view : rest;
}

function refuse(code: ErrorCode, detail: string): [number, unknown] {
  const problem = toProblem(code, detail);
  return [problem.status, problem];
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
