import { readFile } from 'node:fs/promises';
import type { JobView } from '../../jobs/job-view.js';
import type { JobForm, JobsClient } from './client.js';
import { HangUp, Refusal, type SeenProblem, Silence } from './failures.js';
import { persist, type Persistence } from './persist.js';
import { type LoadedImage, submissionKey } from './submission-key.js';

export interface SubmitterOptions {
  readonly client: JobsClient;
  readonly runKey: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly how: Persistence;
  readonly onJob: (job: JobView, files: readonly string[]) => Promise<void>;
  readonly onRefused: (file: string, problem: SeenProblem) => Promise<void>;
}

/** Fewer could be a network that is bad, or a server that restarts. */
const MOST_HANG_UPS = 3;

/** What every other image would be told, too. */
const ABOUT_ALL = new Set([
  'unauthorized',
  'not_found',
  'model_not_found',
  'method_not_allowed',
  'webhook_refused',
  'invalid_request',
]);

function concernsAll(error: Refusal | HangUp): boolean {
  if (error instanceof HangUp) return false;
  const { status, problem } = error;
  return ABOUT_ALL.has(problem.code) || [401, 403, 404, 405].includes(status) || status < 400;
}

/** Makes jobs of files. Holds the bytes of one group while it is being sent. */
export class Submitter {
  readonly #options: SubmitterOptions;

  constructor(options: SubmitterOptions) {
    this.#options = options;
  }

  /** @throws what makes going on pointless */
  async submit(files: readonly string[]): Promise<void> {
    const images: LoadedImage[] = [];
    for (const file of files) {
      try {
        images.push({ file, bytes: await readFile(file) });
      } catch (error) {
        const detail = (error as Error).message;
        await this.#options.onRefused(file, { code: 'unreadable_file', detail });
      }
    }
    if (images.length > 0) await this.#send(images);
  }

  async #send(images: readonly LoadedImage[]): Promise<void> {
    const { runKey, fields, onJob, onRefused } = this.#options;
    const form = {
      fields,
      images: images.map(({ bytes }) => bytes),
      idempotencyKey: submissionKey(runKey, fields, images),
    };
    try {
      const job = await this.#post(form);
      await onJob(
        job,
        images.map(({ file }) => file),
      );
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof HangUp)) throw error;
      const [image, ...others] = images;
      // A group is refused for one of its images, or because it is too large; one by one they tell.
      if (others.length > 0 && !isCertain(error)) {
        for (const one of images) await this.#send([one]);
      } else if (image === undefined || concernsAll(error)) throw error;
      else await onRefused(image.file, error.problem);
    }
  }

  #post(form: JobForm): Promise<JobView> {
    const { client, how } = this.#options;
    let hangUps = 0;
    const attempt = async (): Promise<JobView> => {
      try {
        return await client.submit(form);
      } catch (error) {
        if (!(error instanceof Silence)) throw error;
        hangUps = (await this.#isThere()) ? hangUps + 1 : 0;
        throw hangUps < MOST_HANG_UPS ? error : new HangUp('', { cause: error });
      }
    };
    return persist(attempt, how);
  }

  /** Any answer will do. */
  async #isThere(): Promise<boolean> {
    try {
      await this.#options.client.list({ limit: 1 });
      return true;
    } catch (error) {
      return error instanceof Refusal;
    }
  }
}

/** `invalid_request` may be about the number of images. */
function isCertain(error: Refusal | HangUp): boolean {
  return concernsAll(error) && error.problem.code !== 'invalid_request';
}
