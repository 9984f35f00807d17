import type { Cancellation } from '../../cancellation.js';
import { ShoalError } from '../../errors.js';
import type { JobRecord } from '../job.js';
import type { NewJob } from '../job-store.js';
import { toStoreError } from './faults.js';
import { keys } from './keys.js';
import type { Link } from './link.js';
import { BYTES_PER_MS, CALL_MS } from './timing.js';

/** Images come before their record. If that never comes, they go by themselves. */
const ORPHAN_MS = 60_000;
const RETRY_MS = 200;
/** Whoever runs the job cannot stop in the meantime. */
const PATIENCE_MS = 5000;

/** Up to this size they travel with the call that needs them. */
const SMALL_BYTES = 256 * 1024;

/** The bytes of images. Large ones have their own connection: small calls do not wait for them. */
export class Images {
  readonly #small: Link;
  readonly #large: Link;
  readonly #prefix: string;
  #isClosed = false;

  /** @param small the connection that submissions use */
  constructor(small: Link, large: Link, prefix: string) {
    this.#small = small;
    this.#large = large;
    this.#prefix = prefix;
  }

  close(): void {
    this.#isClosed = true;
  }

  /**
   * Small ones are there before whatever is sent after them, so nobody has to wait.
   * @throws `store_unavailable`, `store_full`
   */
  async put({ id, images, imageBytes }: NewJob): Promise<void> {
    const link = this.isSmall(imageBytes) ? this.#small : this.#large;
    const answers = await link.call((client) => {
      const pipeline = client.pipeline();
      for (const [n, image] of images.entries()) {
        pipeline.set(keys.image(this.#prefix, id, n), asBuffer(image), 'PX', ORPHAN_MS);
      }
      return pipeline.exec();
    }, limitFor(imageBytes));
    for (const [error] of answers ?? []) if (error !== null) throw toStoreError(error);
  }

  isSmall(bytes: number): boolean {
    return bytes <= SMALL_BYTES;
  }

  /**
   * One image of a job that is held. A short outage is waited for.
   * @throws `store_unavailable`, `job_not_found`, or why the job is not wanted any more
   */
  async get(job: JobRecord, at: number, cancellation: Cancellation): Promise<Uint8Array> {
    const name = keys.image(this.#prefix, job.id, at);
    const until = performance.now() + PATIENCE_MS;
    for (;;) {
      if (cancellation.reason !== undefined) throw cancellation.reason;
      try {
        const image = await this.#large.call(
          (client) => client.getBuffer(name),
          limitFor(job.imageBytes),
        );
        if (image !== null) return image;
        // It went with the job, which somebody has removed.
        throw new ShoalError('job_not_found', 'The job is gone.');
      } catch (error) {
        const isAway = error instanceof ShoalError && error.code === 'store_unavailable';
        if (!isAway || this.#isClosed || performance.now() > until) throw error;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }
}

function asBuffer(image: Uint8Array): Buffer {
  return Buffer.from(image.buffer, image.byteOffset, image.byteLength);
}

/** Large ones may take longer. */
function limitFor(bytes: number): number {
  return CALL_MS + bytes / BYTES_PER_MS;
}
