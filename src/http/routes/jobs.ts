import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ByteBudget } from '../../admission/byte-budget.js';
import type { Config } from '../../config/schema.js';
import { ShoalError } from '../../errors.js';
import { inspectPieces } from '../../image/inspect.js';
import { checkImageLimits } from '../../image/limits.js';
import { FINAL_STATES, isFinal, JOB_ID, type JobRecord, newJobId } from '../../jobs/job.js';
import type { NewJob } from '../../jobs/job-store.js';
import { viewJob } from '../../jobs/job-view.js';
import type { Jobs } from '../../jobs/jobs.js';
import { webhookPolicy } from '../../jobs/webhooks/policy.js';
import type { ModelRegistry } from '../../models/registry.js';
import type { Metrics } from '../../telemetry/metrics.js';
import { parseContentType } from '../content-type.js';
import { followJob } from '../job-events.js';
import {
  fingerprintOf,
  type JobInput,
  maxJobBodyBytes,
  readIdempotencyKey,
  readJobInput,
} from '../job-input.js';
import { readListQuery, readPurgeQuery, readWait } from '../job-query.js';
import { ClientGoneError } from '../receive-body.js';
import { JobListResponse, JobParams, JobResponse, PurgeResponse } from '../job-schemas.js';
import { DEFAULT_THRESHOLD } from '../schemas.js';

interface JobDependencies {
  readonly config: Config;
  readonly models: ModelRegistry;
  readonly budget: ByteBudget;
  readonly jobs: Jobs;
  readonly metrics: Metrics;
}

/** `/jobs`: submit, read, follow, cancel. */
export function jobRoutes(app: FastifyInstance, dependencies: JobDependencies): void {
  const { config, models, budget, jobs, metrics } = dependencies;
  const { store, watchers } = jobs;
  const webhooks = webhookPolicy(config);
  const inputLimits = {
    maxImageBytes: config.max_image_bytes,
    maxImages: config.max_job_images,
    // As JSON, images are a third larger, and there is something around them.
    maxBytes: Math.min(config.max_job_bytes, Math.floor(config.max_inflight_bytes / 1.5)),
  };
  const imageLimits = { maxPixels: config.max_pixels, maxDecodeBytes: config.max_decode_bytes };

  /** Everything that can be refused is refused before the body is read. */
  function admitHeaders(request: FastifyRequest): void {
    const { context, headers } = request;
    if (context.isClosed) throw new ClientGoneError('the client closed the connection');
    const form = parseContentType(headers['content-type']);
    context.form = form;
    context.maxBodyBytes = maxJobBodyBytes(form, inputLimits);
    readIdempotencyKey(headers['idempotency-key']);
    const bytes = Number(headers['content-length'] ?? 0);
    // One that is too large is told so when its body would be read.
    if (bytes > context.maxBodyBytes) return;
    const tenant = tenantOf(request);
    tenant.enter();
    context.leave = () => {
      tenant.leave();
    };
    context.reservation = budget.open(bytes);
  }

  async function submit(request: FastifyRequest, reply: FastifyReply): Promise<string> {
    const { form } = request.context;
    if (form === undefined) throw new Error('the headers were not read');
    const input = await readJobInput(
      form,
      request.body as readonly Buffer[],
      request.query as Record<string, unknown>,
      inputLimits,
    );
    checkImages(input.images);
    const job = await toNewJob(request, input);
    const { record, isNew } = await store.submit(job);
    request.context.job = record.id;
    if (isNew) metrics.count('shoal_jobs_submitted_total', { model: record.model });
    void reply.code(isNew ? 202 : 200).header('location', `/jobs/${record.id}`);
    return answer(reply, viewJob(record, Date.now()));
  }

  /** What is plainly no image is refused here and not hours later. */
  function checkImages(images: readonly Buffer[]): void {
    for (const [at, image] of images.entries()) {
      try {
        checkImageLimits(inspectPieces([image]), imageLimits);
      } catch (error) {
        if (!(error instanceof ShoalError) || images.length === 1) throw error;
        throw new ShoalError(error.code, `Image ${String(at + 1)}: ${error.message}`);
      }
    }
  }

  async function toNewJob(request: FastifyRequest, input: JobInput): Promise<NewJob> {
    const { images, options } = input;
    const tenant = tenantOf(request);
    const model = models.get(options.model);
    if (options.webhook_url !== undefined) webhooks.check(options.webhook_url, tenant.owner);
    const key = readIdempotencyKey(request.headers['idempotency-key']);
    const now = Date.now();
    return {
      id: newJobId(),
      owner: tenant.owner,
      model: model.name,
      priority: options.priority ?? 'normal',
      threshold: options.confidence_threshold ?? DEFAULT_THRESHOLD,
      imageCount: images.length,
      imageBytes: images.reduce((sum, image) => sum + image.length, 0),
      ...(options.webhook_url !== undefined && { webhookUrl: options.webhook_url }),
      createdAt: now,
      expiresAt: now + (options.expires_in ?? config.job_expires_s) * 1000,
      images,
      fingerprint: key === undefined ? '' : await fingerprintOf(input),
      ...(key !== undefined && { idempotencyKey: key }),
    };
  }

  /** The job of that id, if it is this key's. */
  async function find(request: FastifyRequest): Promise<JobRecord> {
    const { id } = request.params as { id: string };
    const job = JOB_ID.test(id) ? await store.get(id) : undefined;
    return ownOrNothing(request, job);
  }

  function ownOrNothing(request: FastifyRequest, job: JobRecord | undefined): JobRecord {
    if (job?.owner !== tenantOf(request).owner) {
      throw new ShoalError('job_not_found', 'There is no such job, or no longer.');
    }
    request.context.job = job.id;
    return job;
  }

  async function read(request: FastifyRequest, reply: FastifyReply): Promise<string> {
    const until = performance.now() + readWait(request.query) * 1000;
    using watch = watchers.watch((request.params as { id: string }).id);
    for (;;) {
      const job = await find(request);
      const leftMs = until - performance.now();
      if (isFinal(job.state) || leftMs <= 0 || watchers.isClosed || request.context.isClosed) {
        return answer(reply, viewJob(job, Date.now()));
      }
      request.context.onClientGone = () => {
        watch[Symbol.dispose]();
      };
      await watch.next(leftMs);
    }
  }

  async function cancel(request: FastifyRequest, reply: FastifyReply): Promise<string> {
    const { id } = await find(request);
    const job = ownOrNothing(request, await store.cancel(id));
    return answer(reply, viewJob(job, Date.now()));
  }

  async function retry(request: FastifyRequest, reply: FastifyReply): Promise<string> {
    const { id } = await find(request);
    const expiresAt = Date.now() + config.job_expires_s * 1000;
    const job = ownOrNothing(request, await store.retry(id, expiresAt));
    return answer(reply, viewJob(job, Date.now()));
  }

  const tags = ['jobs'];
  const params = JobParams;
  const one = { 200: JobResponse };
  /** Cheap, but a key may not ask as often as it likes. */
  const onRequest = (request: FastifyRequest, _reply: FastifyReply, done: () => void): void => {
    tenantOf(request).pass();
    done();
  };
  app.route({
    method: 'POST',
    url: '/jobs',
    schema: { tags, summary: 'Submit a job', response: { 200: JobResponse, 202: JobResponse } },
    onRequest: (request, _reply, done) => {
      admitHeaders(request);
      done();
    },
    handler: submit,
  });
  app.route({
    method: 'GET',
    url: '/jobs',
    schema: { tags, summary: 'The jobs of this key', response: { 200: JobListResponse } },
    onRequest,
    handler: async (request, reply) => {
      const query = readListQuery(request.query);
      const page = await store.list({ ...query, owner: tenantOf(request).owner });
      const now = Date.now();
      return answer(reply, {
        jobs: page.jobs.map((job) => viewJob(job, now)),
        ...(page.cursor !== undefined && { cursor: page.cursor }),
      });
    },
  });
  app.route({
    method: 'DELETE',
    url: '/jobs',
    schema: { tags, summary: 'Remove finished jobs', response: { 200: PurgeResponse } },
    onRequest,
    handler: async (request) => {
      const states = readPurgeQuery(request.query, FINAL_STATES);
      return { removed: await store.purge(tenantOf(request).owner, states) };
    },
  });
  app.route({
    method: 'GET',
    url: '/jobs/:id',
    schema: { tags, summary: 'One job, or its end', params, response: one },
    onRequest,
    handler: read,
  });
  app.route({
    method: 'DELETE',
    url: '/jobs/:id',
    schema: { tags, summary: 'Cancel a job', params, response: one },
    onRequest,
    handler: cancel,
  });
  app.route({
    method: 'POST',
    url: '/jobs/:id/retry',
    schema: { tags, summary: 'Queue a job again', params, response: one },
    onRequest,
    handler: retry,
  });
  app.route({
    method: 'GET',
    url: '/jobs/:id/events',
    schema: { tags, summary: 'Follow a job (server-sent events)', params },
    onRequest,
    handler: async (request, reply) => {
      await followJob(request, reply, { watchers, read: () => find(request) });
    },
  });
}

/** As text, so that fields come in the order in which people read them. */
function answer(reply: FastifyReply, body: unknown): string {
  void reply.type('application/json; charset=utf-8');
  return `${JSON.stringify(body)}\n`;
}

function tenantOf({ context }: FastifyRequest): NonNullable<FastifyRequest['context']['tenant']> {
  if (context.tenant === undefined) throw new Error('the key was not checked');
  return context.tenant;
}
