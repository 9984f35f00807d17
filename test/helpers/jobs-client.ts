import { expect } from 'vitest';
import type { JobView } from '../../src/jobs/job-view.js';
import { type Colour, solidPng } from './pictures.js';
import type { TestServer } from './server.js';

/** A client of the job routes of a test server. */
export class JobsClient {
  readonly #server: TestServer;
  readonly #headers: Record<string, string>;

  constructor(server: TestServer, key?: string) {
    this.#server = server;
    this.#headers = key === undefined ? {} : { 'x-api-key': key };
  }

  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { ...this.#headers, ...(init.headers as Record<string, string> | undefined) };
    return fetch(this.#server.url + path, { ...init, headers });
  }

  post(
    body: string | Buffer | FormData,
    type?: string,
    path = '/jobs',
    more = {},
  ): Promise<Response> {
    const headers = type === undefined ? more : { 'content-type': type, ...more };
    return this.fetch(path, { method: 'POST', body: body as string, headers });
  }

  /** A job with pictures of these colours, which must be accepted. */
  async submit(colours: readonly Colour[], fields: Record<string, unknown> = {}): Promise<JobView> {
    const images = await Promise.all(colours.map((colour) => solidPng(colour)));
    const images_b64 = images.map((image) => image.toString('base64'));
    const response = await this.post(JSON.stringify({ images_b64, ...fields }), 'application/json');
    const job = (await response.json()) as JobView;
    expect(response.status, JSON.stringify(job)).toBe(202);
    return job;
  }

  async get(id: string, query = ''): Promise<JobView> {
    return (await (await this.fetch(`/jobs/${id}${query}`)).json()) as JobView;
  }

  /** The job when it has ended, however long that takes. */
  async ended(id: string): Promise<JobView> {
    for (;;) {
      const job = await this.get(id, '?wait=10');
      if (job.finished_at !== undefined) return job;
    }
  }

  async cancel(id: string): Promise<JobView> {
    return (await (await this.fetch(`/jobs/${id}`, { method: 'DELETE' })).json()) as JobView;
  }
}

/** Where the stub saw the first pixel: in x1, y1 and x2. */
export function boxesOf(job: JobView): (readonly number[] | undefined)[] {
  return (job.results ?? []).map((result) =>
    'detections' in result ? result.detections[0]?.bbox : undefined,
  );
}
