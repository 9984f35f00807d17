import type { Tenant } from '../admission/tenant.js';
import { Cancellation } from '../cancellation.js';
import { ShoalError } from '../errors.js';
import { inspectPieces } from '../image/inspect.js';
import { checkImageLimits, type ImageLimits } from '../image/limits.js';
import type { ServedModel } from '../models/served-model.js';
import type { Telemetry } from '../telemetry/telemetry.js';
import { failpoint } from './failpoint.js';
import type { JobRecord } from './job.js';
import type { Claim, JobConsumer, JobStore, Verdict } from './job-store.js';
import { Places } from './places.js';
import { conclude, type ImageOutcome, outcomeOf } from './verdict.js';

/** Enough in reach that a session that becomes free finds something. */
const LOOKAHEAD = 2;
/** A background item that was refused comes again. */
const REFUSED_MS = 250;

interface RunnerOptions {
  readonly store: JobStore;
  readonly limits: ImageLimits;
  /** Whose share of the engine a job takes. */
  tenantOf(owner: string): Tenant;
}

/** The process stops; the job goes back. */
class StoppingError extends Error {
  override readonly name = 'StoppingError';
}

/**
 * Runs the jobs of one model as background work: through the same gate, engine and batcher as
 * requests, behind all of them.
 */
export class JobRunner {
  readonly model: ServedModel;
  readonly slots: number;
  readonly #options: RunnerOptions;
  readonly #telemetry: Telemetry;
  readonly #consumer: JobConsumer;
  /** Bounds the images in memory, whatever the jobs look like; small urgent jobs pass large ones. */
  readonly #images: Places;
  readonly #running = new Set<Cancellation>();
  #isStopping = false;

  constructor(model: ServedModel, options: RunnerOptions, telemetry: Telemetry) {
    this.model = model;
    this.#options = options;
    this.#telemetry = telemetry;
    this.slots = LOOKAHEAD * model.plan.maxConcurrent * model.devices.length;
    this.#images = new Places(this.slots);
    this.#consumer = options.store.consume({
      model: model.name,
      slots: this.slots,
      run: (claim) => this.#run(claim),
    });
    // What nobody here can run stays in the queue, where others may find it.
    this.#consumer.hold(model.gate.isClosed);
    model.gate.onClosed = (isClosed) => {
      this.#consumer.hold(isClosed);
    };
  }

  get isHeld(): boolean {
    return this.model.gate.isClosed;
  }

  get active(): number {
    return this.#consumer.active;
  }

  get movedAt(): number {
    return this.#consumer.movedAt;
  }

  /** What is in work may be finished within `graceMs`; the rest goes back to the queue. */
  async close(graceMs: number): Promise<void> {
    const closed = this.#consumer.close();
    const timer = setTimeout(() => {
      this.#isStopping = true;
      for (const cancellation of this.#running) {
        cancellation.cancel(new StoppingError('the server stops'));
      }
    }, graceMs);
    await closed;
    clearTimeout(timer);
  }

  async #run(claim: Claim): Promise<Verdict> {
    failpoint('claim.taken');
    const { job } = claim;
    const { metrics } = this.#telemetry;
    const labels = { model: this.model.name };
    const started = Date.now();
    metrics.observe(
      'shoal_job_state_seconds',
      { ...labels, state: 'queued' },
      Math.max(0, started - job.createdAt) / 1000,
    );
    const verdict = await this.#attempt(claim);
    const outcome = claim.cancellation.reason === undefined ? verdict.kind : 'taken_away';
    metrics.count('shoal_job_attempts_total', { ...labels, outcome });
    metrics.observe(
      'shoal_job_state_seconds',
      { ...labels, state: 'running' },
      (Date.now() - started) / 1000,
    );
    if ('problem' in verdict) {
      const { code, detail } = verdict.problem;
      const line = { job: job.id, model: this.model.name, code, detail, tries: job.tries };
      this.#telemetry.log.warn(
        line,
        verdict.kind === 'failed' ? 'job failed' : 'job is tried again',
      );
    }
    failpoint('run.done');
    return verdict;
  }

  async #attempt(claim: Claim): Promise<Verdict> {
    const { job, cancellation } = claim;
    // Each image is held by a stage of its own, so each needs one of its own.
    const parts = Array.from({ length: job.imageCount }, () => new Cancellation());
    cancellation.listen((reason) => {
      for (const part of parts) part.cancel(reason);
    });
    for (const part of parts) this.#running.add(part);
    let done = 0;
    try {
      const outcomes = await Promise.all(
        parts.map((part, at) =>
          this.#images.run(job.priority, async () => {
            const outcome = await this.#predict(claim, at, part);
            if (++done < job.imageCount) claim.progress(done);
            return outcome;
          }),
        ),
      );
      return conclude(outcomes, job.tries, Math.random());
    } catch {
      // Stopping, or taken away: then nobody listens.
      return { kind: 'released' };
    } finally {
      cancellation.listen(undefined);
      for (const part of parts) this.#running.delete(part);
    }
  }

  /** @throws when the job was taken away or the process stops */
  async #predict(claim: Claim, at: number, cancellation: Cancellation): Promise<ImageOutcome> {
    for (;;) {
      this.#check(cancellation);
      try {
        const result = await this.#submit(claim.job, await claim.image(at), cancellation);
        return { kind: 'done', result };
      } catch (error) {
        this.#check(cancellation);
        if (!(error instanceof ShoalError)) {
          this.#telemetry.log.error({ job: claim.job.id, err: error }, 'unexpected error');
        } else if (error.status === 429 || error.code === 'gpu_memory_high') {
          await new Promise((resolve) => setTimeout(resolve, REFUSED_MS));
          continue;
        }
        return outcomeOf(error);
      }
    }
  }

  /** @throws when the image is no longer this process's business */
  #check({ reason }: Cancellation): void {
    if (this.#isStopping) throw new StoppingError('the server stops');
    if (reason !== undefined) throw reason;
  }

  async #submit(
    job: JobRecord,
    image: Uint8Array,
    cancellation: Cancellation,
  ): Promise<Extract<ImageOutcome, { kind: 'done' }>['result']> {
    const pieces = [Buffer.from(image.buffer, image.byteOffset, image.byteLength)];
    const info = inspectPieces(pieces);
    checkImageLimits(info, this.#options.limits);
    const deadline = performance.now() + (job.expiresAt - Date.now());
    const { threshold } = job;
    const { detections, timings } = await this.model.predict(
      { image: pieces, info, threshold, deadline, isBackground: true, cancellation },
      {
        id: job.id,
        tenant: this.#options.tenantOf(job.owner),
        isBackground: true,
        bytes: image.byteLength,
        deadline,
        isExpected: false,
      },
      () => undefined,
    );
    return { detections, inference_ms: Number(timings.inferMs.toFixed(2)) };
  }
}
